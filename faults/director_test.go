package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
)

const testLease = 100 * time.Millisecond

// stage is a World that only records what is done to it, in a bubble, with its Director.
type stage struct {
	*Director
	start time.Time
	work  sync.WaitGroup

	mu   sync.Mutex
	did  []string // what was done, and at which millisecond
	fail map[string]error
}

func newStage(t *testing.T, clients int, plan ...Spec) *stage {
	s := &stage{start: time.Now(), fail: map[string]error{}}
	s.Director = NewDirector(NewPlan(plan, testLease, false), DirectorConfig{World: s, Lease: testLease, Clients: clients})
	s.Director.Start(t.Context())
	return s
}

func (s *stage) does(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, fmt.Sprintf("%s @%d", what, time.Since(s.start).Milliseconds()))
	return s.fail[what]
}

func (s *stage) undo(what string, args ...any) Undo {
	return func(context.Context) error { return s.does("end "+what, args...) }
}

func (s *stage) Now() int64 { return int64(time.Since(s.start)) }

func (s *stage) After(d time.Duration, do func()) {
	s.work.Go(func() { time.Sleep(d); do() })
}

func (s *stage) Client(number int) (Client, error) { return stagedClient{s, number}, nil }

type stagedClient struct {
	*stage
	number int
}

func (c stagedClient) Pause(context.Context) (Undo, error) {
	return c.undo("pause c%d", c.number), c.does("pause c%d", c.number)
}
func (c stagedClient) Crash(context.Context) error  { return c.does("crash c%d", c.number) }
func (c stagedClient) Cancel(context.Context) error { return c.does("cancel c%d", c.number) }
func (c stagedClient) Hold() Undo {
	_ = c.does("hold c%d", c.number)
	return c.undo("hold c%d", c.number)
}

func (s *stage) Isolate(_ context.Context, n, c int) (Undo, error) {
	return s.undo("isolate n%d c%d", n, c), s.does("isolate n%d c%d", n, c)
}

func (s *stage) Block(_ context.Context, c, n int) (Undo, error) {
	return s.undo("block c%d n%d", c, n), s.does("block c%d n%d", c, n)
}
func (s *stage) Slow(_ context.Context, d time.Duration, rate float64) (Undo, error) {
	return s.undo("slow"), s.does("slow %v %g", d, rate)
}
func (s *stage) CutSubscribers(_ context.Context, stay bool) (int, Undo, error) {
	return 1, s.undo("cut"), s.does("cut %v", stay)
}
func (s *stage) Nodes() int                                { return 3 }
func (s *stage) KillServer(_ context.Context, n int) error { return s.does("kill n%d", n) }
func (s *stage) RestartServer(_ context.Context, n int) (e history.Effect, err error) {
	return e, s.does("restart n%d", n)
}
func (s *stage) StopServer(_ context.Context, n int) error     { return s.does("stop n%d", n) }
func (s *stage) ContinueServer(_ context.Context, n int) error { return s.does("continue n%d", n) }
func (s *stage) CutReplication(context.Context, int) error     { return s.does("cut replication") }
func (s *stage) Failover(context.Context, int) (had string, e history.Effect, err error) {
	return history.LackedKey, e, s.does("failover")
}
func (s *stage) JumpClock(_ context.Context, n int, by time.Duration) (e history.Effect, err error) {
	return e, s.does("jump n%d %v", n, by)
}
func (s *stage) DriftClock(_ context.Context, n int, rate float64) (e history.Effect, err error) {
	return e, s.does("drift n%d %g", n, rate)
}
func (s *stage) SetClockRight(_ context.Context, n int) ([]history.Effect, error) {
	return nil, s.does("right n%d", n)
}
func (s *stage) FlushScripts(_ context.Context, n int) error { return s.does("flush n%d", n) }
func (s *stage) DeleteKeys(_ context.Context, n int) (history.Effect, error) {
	return history.Effect{Node: n, What: history.Deleted, Lost: []string{"lock"}}, s.does("delete n%d", n)
}
func (s *stage) EvictKeys(_ context.Context, n int) ([]history.Effect, error) {
	return []history.Effect{{Node: n, What: history.Evicted, Lost: []string{"lock"}}}, s.does("evict n%d", n)
}

// at reports a moment of a client to the director.
func (s *stage) at(client int, m history.Moment) {
	s.Reach(client, m)
	s.Event(context.Background(), Event{Kind: Moment, Client: client, Moment: m}, nil)
}

func (s *stage) notes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.did, ", ")
}

// What a Director does to its world, and when, for every kind of fault.
func TestDirectorDoesEveryKind(t *testing.T) {
	at := Trigger{Moment: "entered"}
	one, two := Span{Leases: 1}, Span{Leases: 2}
	rows := []struct {
		spec Spec
		want string
		end  time.Duration // of the window; 0 = it has none
	}{
		{Spec{Fault: PauseClient, Client: 1, When: at, For: one}, "pause c1 @10, end pause c1 @110", 110 * time.Millisecond},
		{Spec{Fault: CrashClient, Client: 1, When: at}, "crash c1 @10", 0},
		{Spec{Fault: CancelClient, Client: 1, When: at}, "cancel c1 @10", 10 * time.Millisecond},
		{Spec{Fault: SkewClient, Client: 1, By: two}, "[{200ms 0s } {0s 0s }]", 0},
		{Spec{Fault: CollideOwners}, "[{0s 0s thread-1} {0s 0s thread-1}]", 0},
		// every section
		{Spec{Fault: SlowWork, Client: 1, For: two}, "[{0s 200ms } {0s 0s }]", 0},
		{Spec{Fault: SlowWork, Client: 1, When: at, For: two}, "hold c1 @10, end hold c1 @210", 210 * time.Millisecond}, // this one
		// until the run ends
		{Spec{Fault: SlowNetwork, By: one, Rate: 5}, "slow 100ms 5 @0, end slow @1000", 0},
		// for a while
		{Spec{Fault: SlowNetwork, Client: 1, By: one, When: at, For: one}, "slow 100ms 0 @10, end slow @110", 110 * time.Millisecond},
		{Spec{Fault: BlackholeClient, Client: 1, When: at, For: one}, "block c1 n-1 @10, end block c1 n-1 @110", 110 * time.Millisecond}, // all nodes
		// the client whose moment it is, on its side
		{Spec{Fault: IsolateServer, Node: 2, Client: 1, When: at, For: one}, "isolate n1 c1 @10, end isolate n1 c1 @110", 110 * time.Millisecond},
		// all clients
		{Spec{Fault: PartitionNodes, Node: 2, Client: 1, When: at, For: one}, "block c-1 n1 @10, end block c-1 n1 @110", 110 * time.Millisecond},
		{Spec{Fault: CutPubSub, Client: 1, When: at}, "cut false @10, end cut @10", 10 * time.Millisecond},
		{Spec{Fault: CutPubSub, Client: 1, When: at, For: one}, "cut true @10, end cut @110", 110 * time.Millisecond},
		{Spec{Fault: KillServer, Node: 3, Client: 1, When: at, For: one}, "kill n2 @10, restart n2 @110", 110 * time.Millisecond},
		{Spec{Fault: KillServer, Node: 3, Client: 1, When: at}, "kill n2 @10", 0}, // for good
		{Spec{Fault: PauseServer, Node: 1, Client: 1, When: at, For: one}, "stop n0 @10, continue n0 @110", 110 * time.Millisecond},
		{Spec{Fault: Failover, Client: 1, When: at}, "failover @10", 10 * time.Millisecond},
		{Spec{Fault: Failover, For: one}, "cut replication @0, failover @100", 100 * time.Millisecond},
		{Spec{Fault: JumpClock, Node: 1, Client: 1, By: one, When: at}, "jump n0 100ms @10", 10 * time.Millisecond},
		{Spec{Fault: JumpClock, Node: 1, Client: 1, By: one, When: at, For: one}, "jump n0 100ms @10, right n0 @110", 110 * time.Millisecond},
		{Spec{Fault: DriftClock, Node: 1, Rate: 2}, "drift n0 2 @0", 0},
		// no node named: all
		{Spec{Fault: FlushScripts, Client: 1, When: at}, "flush n0 @10, flush n1 @10, flush n2 @10", 10 * time.Millisecond},
		{Spec{Fault: DeleteKey, Node: 2, Client: 1, When: at}, "delete n1 @10", 10 * time.Millisecond},
		{Spec{Fault: EvictKeys, Node: 1, Client: 1, When: at}, "evict n0 @10", 10 * time.Millisecond},
	}
	seen := map[string]bool{}
	for _, r := range rows {
		seen[r.spec.Fault] = true
		t.Run(fmt.Sprintf("%s %s %s", r.spec.Fault, r.spec.When.Form(), r.spec.For), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, 2, r.spec)
				time.Sleep(10 * time.Millisecond)
				s.at(1, history.Entered)
				time.Sleep(990 * time.Millisecond)
				s.work.Wait()
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				got := s.notes()
				if standing := []Standing{s.Standing(1), s.Standing(2)}; standing[0] != (Standing{}) {
					got += fmt.Sprint(standing)
				}
				if got != r.want {
					t.Errorf("did %s; want %s", got, r.want)
				}
				if w := s.Windows(); len(w) != 1 || time.Duration(w[0].End) != max(r.end, time.Duration(boolToInt(r.end > 0))) || !w[0].Confirmed || w[0].Does == 0 {
					t.Errorf("windows %+v, want one that ends at %v", w, r.end)
				}
			})
		})
	}
	for _, k := range Kinds() {
		if k.In != InMessage && !seen[k.Name] {
			t.Errorf("%s has no row", k.Name)
		}
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A trigger injects at its n-th match, and at Times matches from then on.
func TestPlanCounts(t *testing.T) {
	entered, second, third := Trigger{Moment: "entered"}, Trigger{Moment: "entered", Nth: 2}, Trigger{Moment: "entered", Nth: 3}
	rows := []struct {
		name  string
		when  Trigger
		named int // the client that the plan names; 0: none
		times int
		comes []int  // clients, in order, each entering
		want  string // which clients were affected, and at which of these
	}{
		{"the first", entered, 1, 0, []int{1, 1, 1}, "c1@0"},
		{"not another client's", entered, 1, 0, []int{2, 2, 1}, "c1@2"},
		{"the third", third, 1, 0, []int{1, 1, 1, 1}, "c1@2"},
		{"the third and the fourth", third, 1, 2, []int{1, 1, 1, 1, 1}, "c1@2 c1@3"},
		{"not before the third", third, 1, 0, []int{1, 1}, ""},
		{"another client's do not count", third, 1, 0, []int{1, 2, 1, 2, 1}, "c1@4"},
		{"whoever comes first", entered, 0, 0, []int{2, 1, 3}, "c2@0"},
		{"and again", entered, 0, 3, []int{2, 2, 1, 3, 2}, "c2@0 c2@1 c2@4"},
		{"whoever first comes for the second time", second, 0, 0, []int{2, 1, 3, 3, 1}, "c3@3"},
		{"and again, nobody else", second, 0, 2, []int{2, 1, 3, 3, 1, 1, 3}, "c3@3 c3@6"},
	}
	for _, r := range rows {
		p := NewPlan([]Spec{{Fault: PauseClient, Client: r.named, When: r.when, For: Span{Leases: 1}, Times: r.times}}, testLease, false)
		var got []string
		for i, client := range r.comes {
			for _, d := range p.next(Event{Kind: Moment, Client: client, Moment: history.Entered}) {
				got = append(got, fmt.Sprintf("c%d@%d", d.Client, i))
			}
		}
		if strings.Join(got, " ") != r.want {
			t.Errorf("%s: affected %v, want %s", r.name, got, r.want)
		}
	}
}

// Faults of one name that name no client affect one client each, those with a client named first;
// other faults meet there.
func TestPlanStrikesEveryOneOnce(t *testing.T) {
	entered := Trigger{Moment: "entered"}
	p := NewPlan([]Spec{{Fault: CrashClient, When: entered}, {Fault: CrashClient, When: entered}, {Fault: CrashClient, Client: 2, When: entered},
		{Fault: PauseClient, When: entered}}, testLease, false)
	var got []string
	for _, client := range []int{1, 1, 2, 3, 3, 4} {
		for _, d := range p.next(Event{Kind: Moment, Client: client, Moment: history.Entered}) {
			got = append(got, fmt.Sprintf("%s c%d", d.Fault, d.Client))
		}
	}
	if want := []string{"crash-client c1", "pause-client c1", "crash-client c2", "crash-client c3"}; !slices.Equal(got, want) {
		t.Errorf("affected %q, want %q", got, want)
	}
}

// Faults placed at a time are injected then, and again at its multiples; a dead client is not
// stopped.
func TestTimedFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 2,
			Spec{Fault: PauseClient, Client: 1, When: Trigger{After: Span{Leases: 2}}, For: Span{Leases: 0.5}, Times: 2},
			Spec{Fault: CrashClient, Client: 1, When: Trigger{After: Span{Leases: 3}}},
			Spec{Fault: FlushScripts, Node: 1, When: Trigger{After: Span{Leases: 1}}, Times: 2})
		s.work.Wait()
		want := "flush n0 @100, flush n0 @200, pause c1 @200, end pause c1 @250, crash c1 @300"
		got := strings.Split(s.notes(), ", ")
		slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[strings.Index(a, "@"):], b[strings.Index(b, "@"):]) })
		slices.Sort(got[1:3])
		if strings.Join(got, ", ") != want {
			t.Errorf("did %q, want %s", got, want)
		}
	})
}

// A fault with Until lasts until another client enters after For: neither a client that entered
// before nor the client itself counts. It ends if no other client is left, and at the latest after
// ten leases.
func TestFaultLastsUntilAnotherEnters(t *testing.T) {
	const ms = time.Millisecond
	rows := []struct {
		name  string
		enter map[int]time.Duration
		left  map[int]time.Duration
		want  time.Duration
	}{
		{"another after it", map[int]time.Duration{2: 300 * ms}, nil, 300*ms + settleTime},
		{"one before it does not count", map[int]time.Duration{2: 50 * ms, 3: 400 * ms}, nil, 400*ms + settleTime},
		{"nor does its own", map[int]time.Duration{1: 200 * ms}, nil, 1100 * ms},
		{"nobody is left", nil, map[int]time.Duration{2: 150 * ms, 3: 250 * ms}, 250*ms + settleTime},
		{"nobody was left", nil, map[int]time.Duration{2: 10 * ms, 3: 20 * ms}, 100*ms + settleTime},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, 3)
				s.Place(t.Context(), Spec{Fault: BlackholeClient, Client: 1, For: Span{Leases: 1}, Until: OtherEntered}, "now", nil)
				for client, at := range r.enter {
					s.After(at, func() { s.Reach(client, history.Entered) })
				}
				for client, at := range r.left {
					s.After(at, func() { s.Left(client) })
				}
				s.work.Wait()
				if w := s.Windows()[0]; time.Duration(w.End) != r.want || w.Ending == 0 {
					t.Errorf("it ended at %v, want %v", time.Duration(w.End), r.want)
				}
			})
		})
	}
}

// An effect that is in force is not applied again, and a fault that fails, or does not end, is not
// confirmed.
func TestDirectorSaysWhatDidNotTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 2)
		s.fail["kill n1"], s.fail["end pause c1"] = fmt.Errorf("no such process"), fmt.Errorf("it is gone")
		ctx := t.Context()
		for range 2 {
			s.Place(ctx, Spec{Fault: PauseClient, Client: 1, For: Span{Leases: 1}}, "now", nil)
		}
		s.Place(ctx, Spec{Fault: KillServer, Node: 2, For: Span{Leases: 1}}, "now", nil)
		s.work.Wait()
		w := s.Windows()
		if len(w) != 2 || w[0].Confirmed || w[0].Note != "not healed: it is gone" || w[1].Confirmed || w[1].Note != "no such process" || w[1].End == 0 {
			t.Errorf("windows %+v", w)
		}
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "pause-client: it is gone") {
			t.Errorf("close: %v, want the one that did not end", err)
		}
		if got := s.notes(); strings.Contains(got, "restart") || strings.Count(got, "pause c1 @0") != 1 {
			t.Errorf("did %s", got)
		}
	})
}

// Faults in force that will end are named, once for each client, for as long as they last.
func TestCurrentNamesWhatIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 2)
		s.fail["kill n1"] = fmt.Errorf("no such process")
		for _, f := range []Spec{{Fault: PauseClient, Client: 2, For: Span{Leases: 2}}, {Fault: PauseServer, Node: 1, For: Span{Leases: 1}},
			{Fault: KillServer, Node: 2, For: Span{Leases: 1}}, {Fault: CrashClient, Client: 1}} {
			s.Place(t.Context(), f, "now", nil)
		}
		for _, want := range []string{"pause-client c2, pause-server", "pause-client c2", ""} {
			if got := s.Current(); got != want {
				t.Errorf("at %v: %q, want %q", time.Since(s.start), got, want)
			}
			time.Sleep(testLease + time.Millisecond)
		}
		s.work.Wait()
	})
}

// The end of a run ends the faults that must not outlive it.
func TestCloseEndsWhatIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 2)
		s.cfg.World = quiet{s}
		for _, f := range []Spec{{Fault: PauseServer, Node: 1, For: Span{Leases: 9}}, {Fault: KillServer, Node: 2}, {Fault: PartitionNodes, Node: 3}} {
			s.Place(t.Context(), f, "now", nil)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if got, want := s.notes(), "stop n0 @0, kill n1 @0, block c-1 n2 @0, continue n0 @0, end block c-1 n2 @0"; got != want {
			t.Errorf("did %s, want %s", got, want)
		}
		if w := s.Windows(); w[0].End == 0 || w[1].End != 0 || w[2].End != 0 {
			t.Errorf("windows %+v: want an end for what had a length alone", w)
		}
	})
}

// quiet is a world whose run is over: After schedules nothing.
type quiet struct{ World }

func (quiet) After(time.Duration, func()) {}

func TestPatternMatches(t *testing.T) {
	rows := []struct {
		pattern string
		op      Operation
		command string
		write   bool
		want    bool
	}{
		{"acquire", inAcquire, "GET", false, true},       // any command of the operation
		{"acquire", inRelease, "GET", false, false},      // another operation's
		{"extend", inExtend, "EVALSHA", true, true},      // a renewal
		{"use", inExtend, "EVALSHA", true, false},        // not a request to the store
		{"acquire SET", inAcquire, "SET", true, true},    // by name
		{"acquire set", inAcquire, "SET", true, true},    // in any case
		{"acquire SET", inAcquire, "GET", false, false},  // another name
		{"acquire *w", inAcquire, "EVALSHA", true, true}, // one that writes
		{"acquire *w", inAcquire, "EXISTS", false, false},
		{"any", inUse, "GET", false, true},
		{"any", inExtend, "HELLO", false, false}, // handshakes belong to no operation
	}
	for _, r := range rows {
		p := NewPlan([]Spec{{Fault: CrashClient, When: Trigger{Request: r.pattern}}}, testLease, false)
		e := Event{Kind: Messages, Client: 1, Stage: Leaving, Operation: r.op, Write: r.write, Command: &history.Command{Name: r.command}}
		if got := p.Watches(e); got != r.want {
			t.Errorf("%q on %s in %s: %v, want %v", r.pattern, r.command, r.op, got, r.want)
		}
	}
}

// A reply to a writing command matches if the command wrote, while its operation lasts.
func TestReplyMatches(t *testing.T) {
	crash := Spec{Fault: CrashClient, Client: 1, When: Trigger{Reply: "acquire *w"}}
	rows := []struct {
		name  string
		reply string
		in    history.Moment // the client's last moment
		want  bool
	}{
		{"granted", "1", history.Calling, true},
		{"refused", "0", history.Calling, false},
		{"nothing", "(nil)", history.Calling, false},
		{"an error", "-ERR", history.Calling, false},
		{"late: a quorum was reached without it", "1", history.Granted, false},
	}
	for _, r := range rows {
		p := NewPlan([]Spec{crash}, testLease, false)
		p.Reach(1, r.in)
		e := Event{Kind: Messages, Client: 1, Stage: Returning, Operation: inAcquire, Write: true, Command: &history.Command{Name: "SETNX", Reply: r.reply}}
		if got := p.Watches(e); got != r.want || len(p.next(e)) != boolToInt(r.want) {
			t.Errorf("%s: %v, want %v", r.name, got, r.want)
		}
		e.Stage = Answered
		if p.Watches(e) {
			t.Errorf("%s: a fault of a client was injected on the way", r.name)
		}
	}
}
