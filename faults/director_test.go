package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

const testLease = 100 * time.Millisecond

// stage is a Director with in-process clients, in a bubble.
type stage struct {
	*Director
	gates   []*Gate
	windows Windows
	start   time.Time
}

func newStage(clients int, plan ...Spec) *stage {
	s := &stage{start: time.Now()}
	s.Director = NewDirector(testLease, func() int64 { return int64(time.Since(s.start)) }, s.windows.Add)
	for i := range clients {
		s.gates = append(s.gates, NewGate())
		s.Enlist(i, s.gates[i].Body(), plan)
	}
	return s
}

func TestDirectorPlacesAPause(t *testing.T) {
	rows := []struct {
		name  string
		spec  Spec
		visit int // how often the moment is passed
		want  time.Duration
	}{
		{"at the first", Spec{When: Trigger{Moment: "entered"}, For: Span{Leases: 1.5}}, 1, 150 * time.Millisecond},
		{"not before the third", Spec{When: Trigger{Moment: "entered", Nth: 3}, For: Span{Leases: 1}}, 2, 0},
		{"at the third", Spec{When: Trigger{Moment: "entered", Nth: 3}, For: Span{Leases: 1}}, 3, testLease},
		{"once", Spec{When: Trigger{Moment: "entered"}, For: Span{Leases: 1}}, 5, testLease},
		{"twice when asked", Spec{When: Trigger{Moment: "entered"}, For: Span{Leases: 1}, Times: 2}, 5, 2 * testLease},
		{"not at another moment", Spec{When: Trigger{Moment: "granted"}, For: Span{Leases: 1}}, 5, 0},
		{"not for another client", Spec{Client: 2, When: Trigger{Moment: "entered"}, For: Span{Leases: 1}}, 5, 0},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r.spec.Fault = PauseClient
				if r.spec.Client == 0 {
					r.spec.Client = 1
				}
				s := newStage(2, r.spec)
				for range r.visit {
					if err := s.At(t.Context(), 0, history.Entered); err != nil {
						t.Fatal(err)
					}
				}
				if got := time.Since(s.start); got != r.want {
					t.Errorf("the client was stopped for %v, want %v", got, r.want)
				}
				if n := len(s.windows.List()); (n > 0) != (r.want > 0) {
					t.Errorf("%d windows for a stop of %v", n, r.want)
				}
			})
		})
	}
}

func TestPauseLastsUntilAnotherEnters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(2, Spec{Fault: PauseClient, Client: 1, When: Trigger{Moment: "entered"}, For: Span{Leases: 1}, Until: OtherEntered})
		go func() {
			time.Sleep(3 * testLease)
			_ = s.At(context.Background(), 1, history.Entered)
		}()
		if err := s.At(t.Context(), 0, history.Entered); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(s.start); got != 3*testLease+Settle {
			t.Errorf("the client went on after %v, want a moment after the other entered, at %v", got, 3*testLease)
		}
		w := s.windows.List()
		if len(w) != 1 || !w[0].Confirmed || w[0].Start != 0 || w[0].End != int64(3*testLease+Settle) {
			t.Errorf("windows %+v, want one from 0 to %v", w, 3*testLease)
		}
	})
}

func TestCrashEndsTheClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(1, Spec{Fault: CrashClient, Client: 1, When: Trigger{Reply: "acquire *w", Nth: 2}})
		tap := s.Tap(t.Context(), 0, func(history.Command) {})
		_ = s.At(t.Context(), 0, history.Calling)
		set, refused, get := &history.Command{Name: "SETNX", Reply: "1"}, &history.Command{Name: "SETNX", Reply: "0"}, &history.Command{Name: "GET", Reply: "1"}
		for i, step := range []struct {
			cmd   *history.Command
			write bool
			dead  bool
		}{{set, true, false}, {refused, true, false}, {get, false, false}, {set, true, true}} {
			err := tap.Reply(step.cmd, step.write)
			if dead := errors.Is(err, impls.ErrCrashed); dead != step.dead {
				t.Fatalf("reply %d (%s): dead %v, want %v", i, step.cmd.Name, dead, step.dead)
			}
		}
		if err := s.gates[0].Pass(); !errors.Is(err, impls.ErrCrashed) {
			t.Errorf("the gate of a killed client: %v", err)
		}
		if w := s.windows.List(); len(w) != 1 || w[0].End != 0 {
			t.Errorf("windows %+v, want one without an end", w)
		}
	})
}

func TestCancelReachesTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(1, Spec{Fault: CancelClient, Client: 1, When: Trigger{Request: "acquire"}})
		_ = s.At(t.Context(), 0, history.Calling)
		ctx, cancel := s.Scope(t.Context(), 0)
		defer cancel()
		if err := s.Tap(t.Context(), 0, nil).Request(&history.Command{Name: "SET"}, true); err != nil {
			t.Fatal(err)
		}
		if ctx.Err() == nil {
			t.Error("the call's context was not cancelled")
		}
	})
}

func TestPatternMatches(t *testing.T) {
	rows := []struct {
		pattern string
		phase   Phase
		command string
		write   bool
		want    bool
	}{
		{"acquire", InAcquire, "GET", false, true},       // any command of the operation
		{"acquire", InRelease, "GET", false, false},      // another operation's
		{"acquire SET", InAcquire, "SET", true, true},    // by name
		{"acquire set", InAcquire, "SET", true, true},    // in any case
		{"acquire SET", InAcquire, "GET", false, false},  // another name
		{"acquire *w", InAcquire, "EVALSHA", true, true}, // one that writes
		{"acquire *w", InAcquire, "EXISTS", false, false},
		{"any", InUse, "GET", false, true},
		{"any", Idle, "HELLO", false, false}, // handshakes belong to no operation
	}
	for _, r := range rows {
		if got := ParsePattern(r.pattern).Matches(r.phase, &history.Command{Name: r.command}, r.write); got != r.want {
			t.Errorf("%q on %s in %s: %v, want %v", r.pattern, r.command, r.phase, got, r.want)
		}
	}
}

// Faults that name a time strike then, whatever the client is doing, and again at its multiples.
func TestTimedFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(2,
			Spec{Fault: PauseClient, Client: 1, When: Trigger{After: Span{Leases: 2}}, For: Span{Leases: 0.5}, Times: 2},
			Spec{Fault: CrashClient, Client: 1, When: Trigger{After: Span{Leases: 3}}},
			Spec{Fault: KillServer, Client: 1, When: Trigger{After: Span{Leases: 1}}}) // the Injections'
		s.Timed(t.Context(), 1) // has none
		s.Timed(t.Context(), 0)
		var got []string
		for _, w := range s.windows.List() {
			got = append(got, fmt.Sprintf("%s %v %v", w.Fault, time.Duration(w.Start), time.Duration(w.End)))
		}
		// The crash at 300 ms leaves nobody for the second pause, at 400 ms.
		if want := []string{"pause-client 200ms 250ms", "crash-client 300ms 0s"}; !slices.Equal(got, want) {
			t.Errorf("windows %q, want %q", got, want)
		}
		if err := s.gates[0].Pass(); !errors.Is(err, impls.ErrCrashed) {
			t.Errorf("the gate of a killed client: %v", err)
		}
	})
}

// A fault of whoever comes first strikes that client, as often as it says over all of them.
func TestDirectorTakesWhoeverComesFirst(t *testing.T) {
	once := Trigger{Moment: "entered", Anyone: true}
	rows := []struct {
		name string
		spec Spec
		want []string // clients that were stopped, in order; each of three comes twice, the second first
	}{
		{"the first alone", Spec{Fault: PauseClient, When: once, For: Span{Leases: 1}}, []string{"c2"}},
		{"twice, the same client", Spec{Fault: PauseClient, When: once, For: Span{Leases: 1}, Times: 2}, []string{"c2", "c2"}},
		{"four times", Spec{Fault: PauseClient, When: once, For: Span{Leases: 1}, Times: 4}, []string{"c2", "c2", "c1", "c1"}},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(3, r.spec)
				for _, client := range []int{1, 1, 0, 0, 2, 2} {
					if err := s.At(t.Context(), client, history.Entered); err != nil {
						t.Fatal(err)
					}
				}
				var got []string
				for _, w := range s.windows.List() {
					got = append(got, w.Client)
				}
				if !slices.Equal(got, r.want) {
					t.Errorf("stopped %q, want %q", got, r.want)
				}
			})
		})
	}
}

// A fault of the network knows whose moment it was; one of a server is nobody's, and clients in processes ask their run who was first.
func TestDirectorHandsOnWhoCameFirst(t *testing.T) {
	hole := Spec{Fault: BlackholeClient, When: Trigger{Moment: "entered", Anyone: true}, For: Span{Leases: 1}}
	flush := Spec{Fault: FlushScripts, When: Trigger{Moment: "entered", Anyone: true}}
	s, asked := newStage(2, hole, flush), 0
	s.Claim = func(context.Context, Spec) bool { asked++; return asked != 3 }
	var got []string
	s.Inject = func(_ context.Context, f Spec, _ string) { got = append(got, fmt.Sprintf("%s %d", f.Fault, f.Client)) }
	for _, client := range []int{1, 0} {
		if err := s.At(t.Context(), client, history.Entered); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"blackhole-client 2", "flush-scripts 0", "flush-scripts 0"}; !slices.Equal(got, want) {
		t.Errorf("injected %q, want %q", got, want)
	}
}
