//go:build unix

package subject_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// childVariable makes the test program a child whose lock is in memory, or a toy.
const childVariable = "SUBJECT_TEST_CHILD"

// awayVariable is set once the factory has failed to reach a server.
const awayVariable = "SUBJECT_TEST_AWAY"

func TestMain(m *testing.M) {
	if of := os.Getenv(childVariable); of != "" {
		lock := newMemory
		if of == "toy" {
			lock = newToy
		}
		if err := subject.Serve(lock); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// memory is a lock within one process, with every optional interface.
type memory struct {
	cfg  subject.Config
	held bool
	lost chan struct{}
}

func newMemory(cfg subject.Config) (any, error) {
	if cfg.Key == "refused" {
		return nil, fmt.Errorf("no lock of that name: %w", impls.ErrUnsupported)
	}
	if cfg.Key == "away" {
		// its server is back for the second request
		if _, err := net.Dial("tcp", "127.0.0.1:1"); os.Getenv(awayVariable) == "" {
			return nil, errors.Join(os.Setenv(awayVariable, "1"), err)
		}
	}
	return &memory{cfg: cfg}, nil
}

func (m *memory) TryLock(context.Context) (bool, error) {
	if m.held {
		return false, nil
	}
	m.held, m.lost = true, make(chan struct{})
	return true, nil
}

func (m *memory) Lock(ctx context.Context) error {
	if ok, _ := m.TryLock(ctx); ok {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m *memory) Unlock(context.Context) error {
	if !m.held {
		return errors.New("not locked")
	}
	m.held = false
	return nil
}

func (m *memory) Extend(context.Context) error { close(m.lost); return errors.New("gone") }
func (m *memory) Token() string                { return "of " + m.cfg.Owner }
func (m *memory) Fence() uint64                { return 3 }
func (m *memory) Lost() <-chan struct{}        { return m.lost }
func (m *memory) Describe() subject.Description {
	return subject.Description{Name: "memory 1.0", Can: []string{"wakeups"}}
}

// self returns the command that runs the test program as a child.
func self() subject.Command {
	return subject.Command{Exec: childVariable + "=1 exec '" + os.Args[0] + "'"}
}

func start(t *testing.T, c subject.Command) *subject.Child {
	t.Helper()
	child, err := subject.Start(t.Context(), c, subject.Options{Client: "c1", Patience: 5 * time.Second})
	must(t, err)
	t.Cleanup(func() {
		if err := child.Close(); err != nil {
			t.Error(err)
		}
	})
	return child
}

func open(t *testing.T, child *subject.Child, key string) impls.Lock {
	t.Helper()
	l, err := child.Open(t.Context(), impls.Env{Key: key, Owner: "me", Lease: time.Second, Clock: impls.SystemClock{}})
	must(t, err)
	return l
}

// TestHandleWhoseServersAreAway: a child that reaches no server for its handle has done nothing; it
// is asked again with the next request.
func TestHandleWhoseServersAreAway(t *testing.T) {
	l := open(t, start(t, self()), "away")
	if _, err := l.Try(t.Context(), history.Exclusive); err != nil {
		t.Errorf("with the servers back: %v", err)
	}
	if err := errors.Join(l.Release(t.Context()), l.Close()); err != nil {
		t.Error(err)
	}
}

func TestChildOfAGoLock(t *testing.T) {
	child := start(t, self())
	v, _ := child.About().Variant()
	want := impls.Traits{Extends: true, UniqueToken: true, Fenced: true, NotifiesLoss: true, Wakeups: true}
	if v.Kind != history.Mutex || v.Traits != want || !child.About().Has(subject.CanCancel) {
		t.Errorf("it describes itself as %v, %+v", v.Kind, v.Traits)
	}
	l := open(t, child, "k")
	g, err := l.Try(t.Context(), history.Exclusive)
	if err != nil || g.Token != "of me" || g.Fence != 3 || !g.ValidUntil.Equal(impls.UntilLost) || g.Lost == nil {
		t.Fatalf("try: %+v, %v", g, err)
	}
	if _, err := l.Try(t.Context(), history.Exclusive); !errors.Is(err, impls.ErrBusy) {
		t.Errorf("a second try: %v, want busy", err)
	}
	if _, err := l.Extend(t.Context()); !errors.Is(err, impls.ErrLost) {
		t.Errorf("extend: %v, want lost", err)
	}
	select {
	case <-g.Lost:
	case <-time.After(5 * time.Second):
		t.Error("the loss was not told")
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := l.Release(t.Context()); !errors.Is(err, impls.ErrNotHeld) {
		t.Errorf("a second release: %v, want not held", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := child.Open(t.Context(), impls.Env{Key: "refused", Clock: impls.SystemClock{}}); !errors.Is(err, impls.ErrUnsupported) {
		t.Errorf("a key that it refuses: %v, want unsupported", err)
	}
	if way, err := child.Echo(t.Context(), 8); err != nil || way <= 0 {
		t.Errorf("the way to it takes %v, %v", way, err)
	}
}

func TestChildIsStoppedAndKilled(t *testing.T) {
	child := start(t, self())
	l := open(t, child, "k")
	if !child.Stop() {
		t.Fatal("Stop was not confirmed")
	}
	answered := make(chan error, 1)
	go func() { _, err := l.Try(context.Background(), history.Exclusive); answered <- err }()
	select {
	case err := <-answered:
		t.Errorf("a stopped child answered %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := child.Continue(); err != nil {
		t.Error(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("after it went on: %v", err)
	}
	if !child.Kill() {
		t.Error("Kill was not confirmed")
	}
	if err := l.Release(t.Context()); !errors.Is(err, impls.ErrCrashed) {
		t.Errorf("a call to a child that was killed: %v, want crashed", err)
	}
	if err := child.Err(); err != nil {
		t.Errorf("a child that was killed on purpose: %v", err)
	}
}

// answering is the start of a shell child that replies to describe and new.
const answering = `read q; echo '{"id":1,"ok":true}'; read q; echo '{"id":2,"ok":true}'; read q; `

func TestBadChildren(t *testing.T) {
	for _, row := range []struct {
		name, exec string
		want       error
		says       []string
	}{
		{"there is no such command", "no-such-command", subject.ErrGone, []string{"no-such-command", "not found"}},
		{"it dies at once", "echo out of luck >&2; exit 3", subject.ErrGone, []string{"out of luck", "exit status 3"}},
		{"it says nothing", "sleep 60", subject.ErrGone, []string{`did not answer "describe"`, "nothing"}},
		{"it describes what there is not", `read q; echo '{"id":1,"ok":true,"can":["fly"]}'; cat`, subject.ErrProtocol, []string{`can "fly"`, "extend"}},
		{"it prints for people", `echo loading...; cat`, subject.ErrProtocol, []string{"line 1", `"loading..."`, "JSON"}},
		{"it answers without an id", answering + `echo '{"ok":true}'; cat`, subject.ErrProtocol, []string{"line 3", `"id"`}},
		{"its token is too long", answering + `printf '{"id":2,"ok":true,"token":"%05000d"}\n' 1; cat`, subject.ErrProtocol, []string{"a token of 5000 bytes"}},
		{"it answers what nobody asked", answering + `echo '{"id":77,"ok":true}'; cat`, subject.ErrProtocol, []string{"no request 77"}},
		{"it answers neither yes nor no", answering + `echo '{"id":3}'; cat`, subject.ErrProtocol, []string{`"ok":true or an "error"`}},
		{"it writes without end", answering + `cat /dev/zero`, subject.ErrProtocol, []string{"longer than 1048576 bytes"}},
		{"it dies in a call", answering + `echo segfault >&2; kill -SEGV $$`, subject.ErrGone, []string{"it exited", "segfault"}},
		{"it falls silent", answering + `sleep 60`, subject.ErrGone, []string{`did not answer "try k"`}},
		{"it refuses new", `read q; echo '{"id":1,"ok":true}'; read q; echo '{"id":2,"error":"bad config"}'; cat`, subject.ErrProtocol, []string{"bad config"}},
		{"an error word that has no meaning", answering + `echo '{"id":3,"error":"wait_timeout"}'; cat`, subject.ErrProtocol, []string{`"wait_timeout"`, "busy", `"text"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			err := useBadChild(t, row.exec)
			if !errors.Is(err, row.want) {
				t.Fatalf("got %v, want %v", err, row.want)
			}
			for _, part := range row.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("the error does not say %q:\n%v", part, err)
				}
			}
		})
	}
}

// useBadChild uses a child like a client, up to the first error.
func useBadChild(t *testing.T, command string) error {
	child, err := subject.Start(t.Context(), subject.Command{Exec: command}, subject.Options{Client: "c1", Patience: 700 * time.Millisecond})
	if err != nil {
		return err
	}
	defer child.Close()
	l, err := child.Open(t.Context(), impls.Env{Key: "k", Clock: impls.SystemClock{}})
	if err != nil {
		return err
	}
	_, err = l.Try(t.Context(), history.Exclusive)
	return err
}

func TestLaunchElsewhere(t *testing.T) {
	// env runs the command, as ssh would elsewhere: its child leads no group of its own here.
	c := self()
	c.Launch, c.Host = "env WHERE={host}", "there"
	if got := c.String(); !strings.HasPrefix(got, "env WHERE=there ") {
		t.Errorf("the command is %q", got)
	}
	child := start(t, c)
	l := open(t, child, "k")
	if !child.Stop() {
		t.Error("Stop was not confirmed")
	}
	if err := child.Continue(); err != nil {
		t.Error(err)
	}
	if _, err := l.Try(t.Context(), history.Exclusive); err != nil {
		t.Error(err)
	}
	if !child.Kill() {
		t.Error("Kill was not confirmed")
	}
}

func TestLauncherThatCannotReach(t *testing.T) {
	_, err := subject.Start(t.Context(), subject.Command{Exec: "cat", Launch: "sh -c 'echo no route to host >&2; exit 255' {host}", Host: "h"}, subject.Options{Patience: time.Second})
	if !errors.Is(err, subject.ErrGone) || !strings.Contains(err.Error(), "no route to host") {
		t.Errorf("got %v", err)
	}
}

func TestFleet(t *testing.T) {
	f := subject.Fleet{Exec: self().Exec, Launch: "env AT={pod}", Hosts: []string{"a", "b"}}
	if got := []string{f.Command(0).Host, f.Command(1).Host, f.Command(2).Host}; got[0] != "a" || got[1] != "b" || got[2] != "a" {
		t.Errorf("hosts %v, want a, b, a", got)
	}
	v, err := f.Probe(t.Context())
	if err != nil || v.Name != "memory-1.0" || f.About.Name != "memory 1.0" {
		t.Errorf("%q, %+v, %v", v.Name, f.About, err)
	}
}

func TestServeRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, row := range []struct{ ask, want string }{
		{`{"id":1,"op":"dance"}`, `unsupported`},                 // no such request
		{`{"id":1,"op":"try","key":"k"}`, `without new`},         // no handle
		{`{"id":1,"op":"new","key":"refused"}`, `"unsupported"`}, // the factory refuses
	} {
		var out strings.Builder
		if err := subject.ServeOn(strings.NewReader(row.ask), &out, newMemory, nil); err != nil || !strings.Contains(out.String(), row.want) {
			t.Errorf("%s: %v, %s", row.ask, err, out.String())
		}
	}
	if err := subject.ServeOn(strings.NewReader("{"), io.Discard, newMemory, nil); err == nil {
		t.Error("half a request is none")
	}
}

// A lock with its own Redis client gets what it needs to connect in a child as well, and one that
// extends its holds by itself tells so: the run counts the renewals.
func TestServedLocksDialAndTellTheirRenewals(t *testing.T) {
	var got subject.Config
	factory := func(c subject.Config) (any, error) {
		got = c
		c.Renewed(impls.Renewal{Token: "t", Call: time.Now()})
		return nil, io.ErrUnexpectedEOF
	}
	ask := `{"id":1,"op":"new","client":"c1","key":"k","lease_ms":1000,"poll_ms":10,"servers":["127.0.0.1:1"],"owner":"o"}` + "\n"
	var out strings.Builder
	must(t, subject.ServeOn(strings.NewReader(ask), &out, factory, nil))
	if got.Dial == nil || len(got.Addrs) != 1 {
		t.Errorf("Dial is nil: %v, addresses %q", got.Dial == nil, got.Addrs)
	}
	if said := out.String(); !strings.Contains(said, `"renewed":"k"`) || !strings.Contains(said, `"token":"t"`) || strings.Contains(said, `"ok":true`) {
		t.Errorf("it said %s", said)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
