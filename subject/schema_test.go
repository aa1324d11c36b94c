//go:build unix

package subject_test

import (
	"bytes"
	"context"
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

// toy is a lock with every optional method; an Extend loses it.
type toy struct{ lost chan struct{} }

func newToy(subject.Config) (any, error) { return &toy{}, nil }

func (l *toy) Lock(ctx context.Context) error   { <-ctx.Done(); return ctx.Err() }
func (l *toy) RLock(context.Context) error      { return nil }
func (l *toy) RUnlock(context.Context) error    { return nil }
func (l *toy) Unlock(context.Context) error     { return nil }
func (l *toy) Token() string                    { return "t1" }
func (l *toy) Fence() uint64                    { return 7 }
func (l *toy) ValidUntil() time.Time            { return time.Now().Add(time.Second) }
func (l *toy) Lost() <-chan struct{}            { return l.lost }
func (l *toy) Extend(ctx context.Context) error { close(l.lost); return nil }
func (l *toy) TryLock(context.Context) (bool, error) {
	l.lost = make(chan struct{})
	return true, nil
}

// All that the parent sends and that a child of a Go lock replies fits the schemas.
func TestBothSidesKeepToTheSchemas(t *testing.T) {
	dir := t.TempDir()
	asked, said := filepath.Join(dir, "asked"), filepath.Join(dir, "said")
	child, err := subject.Start(t.Context(), subject.Command{Exec: fmt.Sprintf("tee %s | %s=toy %s | tee %s", asked, childVariable, os.Args[0], said)}, subject.Options{Client: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	use(t, child)
	if err := child.Close(); err != nil {
		t.Fatal(err)
	}
	check(t, "schema/child-request-v1.schema.json", asked, `"describe"`, `"new"`, `"try"`, `"acquire"`, `"extend"`, `"release"`, `"close"`, `"cancel"`, `"shared"`)
	check(t, "schema/child-reply-v1.schema.json", said, `"token"`, `"fence"`, `"valid_ms"`, `"lost"`, `"can"`, `"error"`)
}

// use sends the child every kind of request.
func use(t *testing.T, child *subject.Child) {
	t.Helper()
	l, err := child.Open(t.Context(), impls.Env{Key: "k", Owner: "me", Addrs: []string{"127.0.0.1:1"}, Lease: 1500 * time.Millisecond, Permits: 1, Clock: impls.SystemClock{}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := l.Try(t.Context(), history.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-g.Lost:
	case <-time.After(5 * time.Second):
		t.Error("the child has not told of the loss")
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(short, history.Exclusive); err == nil {
		t.Error("a lock that waits for ever was acquired")
	}
	ended, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := l.Acquire(ended, history.Exclusive); err == nil {
		t.Error("a lock that waits for ever was acquired")
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
	if err != nil {
		t.Fatal(err)
	}
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
