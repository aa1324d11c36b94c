//go:build unix

package subject_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/schematest"
	"github.com/lockbench/lockbench/subject"
)

// toy is the lock in memory with a shared mode and a validity.
type toy struct{ memory }

func newToy(cfg subject.Config) (any, error) { return &toy{memory{cfg: cfg}}, nil }

func (*toy) RLock(context.Context) error   { return nil }
func (*toy) RUnlock(context.Context) error { return nil }
func (*toy) ValidUntil() time.Time         { return time.Now().Add(time.Second) }

// All that the parent sends and that a child of a Go lock replies fits the schemas.
func TestBothSidesKeepToTheSchemas(t *testing.T) {
	dir := t.TempDir()
	asked, said := filepath.Join(dir, "asked"), filepath.Join(dir, "said")
	child, err := subject.Start(t.Context(), subject.Command{Exec: fmt.Sprintf("tee %s | %s=toy %s | tee %s", asked, childVariable, os.Args[0], said)}, subject.Options{Client: "c1"})
	must(t, err)
	use(t, child)
	must(t, child.Close())
	check(t, "schema/child-request-v1.schema.json", asked, `"describe"`, `"new"`, `"try"`, `"acquire"`, `"extend"`, `"release"`, `"close"`, `"cancel"`, `"shared"`)
	check(t, "schema/child-reply-v1.schema.json", said, `"token"`, `"fence"`, `"valid_ms"`, `"lost"`, `"can"`, `"error"`)
}

// use sends the child every kind of request.
func use(t *testing.T, child *subject.Child) {
	t.Helper()
	l, err := child.Open(t.Context(), impls.Env{Key: "k", Owner: "me", Addrs: []string{"127.0.0.1:1"}, Lease: 1500 * time.Millisecond, Permits: 1, Clock: impls.SystemClock{}})
	must(t, err)
	g, err := l.Try(t.Context(), history.Exclusive)
	must(t, err)
	if _, err := l.Extend(t.Context()); !errors.Is(err, impls.ErrLost) {
		t.Errorf("extend: %v, want lost", err)
	}
	select {
	case <-g.Lost:
	case <-time.After(5 * time.Second):
		t.Error("the child has not told of the loss")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(short, history.Exclusive); !errors.Is(err, impls.ErrCancelled) {
		t.Errorf("an acquire whose time runs out: %v, want cancelled", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := l.Acquire(ended, history.Exclusive); !errors.Is(err, impls.ErrCancelled) {
		t.Errorf("an acquire that is cancelled: %v, want cancelled", err)
	}
	if _, err := l.Try(t.Context(), history.Shared); err != nil {
		t.Error(err)
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// check validates every line of a file against a schema, and requires certain words.
func check(t *testing.T, rule, file string, words ...string) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	for line := range bytes.Lines(text) {
		for _, problem := range schematest.Check(t, rule, line) {
			t.Errorf("%s: %s", bytes.TrimSpace(line), problem)
		}
	}
	for _, w := range words {
		if !bytes.Contains(text, []byte(w)) {
			t.Errorf("no %s was said, so that the schema was not tried on it:\n%s", w, text)
		}
	}
}

func TestSchemasRefuse(t *testing.T) {
	for _, row := range []struct {
		why  string
		rule string
		line string
	}{
		{"a request that there is not", "schema/child-request-v1.schema.json", `{"id":1,"op":"steal","key":"k"}`},
		{"a new without servers", "schema/child-request-v1.schema.json", `{"id":1,"op":"new","key":"k","client":"c1","owner":"c1","lease_ms":1,"poll_ms":1}`},
		{"a try of nothing", "schema/child-request-v1.schema.json", `{"id":1,"op":"try"}`},
		{"a cancel of nothing", "schema/child-request-v1.schema.json", `{"id":1,"op":"cancel","key":"k"}`},
		{"an answer to nobody", "schema/child-reply-v1.schema.json", `{"ok":true}`},
		{"neither yes nor no", "schema/child-reply-v1.schema.json", `{"id":1}`},
		{"no", "schema/child-reply-v1.schema.json", `{"id":1,"ok":false}`},
		{"a word that there is not", "schema/child-reply-v1.schema.json", `{"id":1,"ok":true,"can":["fly"]}`},
	} {
		if slices.Equal(schematest.Check(t, row.rule, []byte(row.line)), nil) {
			t.Errorf("%s passes: %s", row.why, row.line)
		}
	}
}
