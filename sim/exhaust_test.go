package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// small is a program whose schedules can all be run, one by one.
type small struct {
	lock    string
	clients int
	fault   string // "" for none
	waits   int
	shape   shape
}

// shape is what a program has besides a lock and clients that do not wait.
type shape struct {
	name   string
	change func(*Program)
}

var (
	plain      = shape{"nobody waits", func(*Program) {}}
	waiting    = shape{"who is refused waits", func(p *Program) { p.Config.AcquireWait, p.Poll = p.Config.Lease, p.Config.Lease*3/5 }}
	replicated = shape{"a pair", func(p *Program) { p.Topology = impls.Replicated }}
	oneMaster  = shape{"one master", func(p *Program) { p.Nodes, p.Topology = 1, impls.Independent }}
	twoMasters = shape{"two masters", func(p *Program) { p.Nodes, p.Topology = 2, impls.Independent }}
)

// scripted is a shape with a fault placed by the program, not by the walk.
func scripted(name string, s faults.Spec) shape {
	return shape{name, func(p *Program) { waiting.change(p); p.Faults = []faults.Spec{s} }}
}

func (s small) name() string {
	return fmt.Sprintf("%s × %d, %s, %d waits, %s", s.lock, s.clients, cmp.Or(s.fault, "no fault"), s.waits, s.shape.name)
}

// job returns the walk of all schedules of a program. No client waits for a lock that is taken, so
// that schedules are short.
func (s small) job(t *testing.T) searchJob {
	t.Helper()
	p := program(t, s.lock, "hot", 1)
	p.Clients, p.Config.AcquireWait = s.clients, 0
	s.shape.change(&p)
	b := Bounds{MaxWaits: s.waits}
	if s.fault != "" {
		b.Faults, b.MaxFaults = []string{s.fault}, 1
	}
	return searchJob{Program: p, Bounds: b, Strategy: Exhaustive, Parts: 1}
}

// smalls lists the programs: every fault that a walk can place, on locks of one server, of a pair
// and of several masters.
func smalls() []small {
	var all []small
	for _, name := range placed() {
		if name == faults.Failover {
			all = append(all, small{"token", 2, name, 0, replicated}, small{"token-wait", 1, name, 0, replicated},
				small{"token-wait", 1, faults.KillServer, 0, replicated})
			continue
		}
		all = append(all, small{"token", 1, name, 1, plain}, small{"token", 2, name, 0, plain},
			small{"token", 2, name, 0, waiting})
	}
	for _, name := range []string{faults.PartitionNodes, faults.CrashClient, faults.LoseRequest, faults.KillServer} {
		all = append(all, small{"redlock", 1, name, 0, twoMasters})
	}
	for _, s := range []shape{
		scripted("work takes long", faults.Spec{Fault: faults.SlowWork, Client: 1, For: faults.Span{Leases: 1.5}}),
		scripted("a slow network", faults.Spec{Fault: faults.SlowNetwork, By: faults.Span{Fixed: 10 * time.Millisecond}}),
		scripted("a narrow network for a while", faults.Spec{Fault: faults.SlowNetwork, Rate: 1e4, For: faults.Span{Fixed: 10 * time.Millisecond}, By: faults.Span{Fixed: time.Millisecond},
			When: faults.Trigger{Reply: "acquire"}}),
		scripted("a fast clock", faults.Spec{Fault: faults.DriftClock, Node: 1, Rate: 1.5}),
		scripted("the second client is paused at its grant", faults.Spec{Fault: faults.PauseClient, Client: 2, For: faults.Span{Leases: 1.5}, When: faults.Trigger{Moment: "granted"}}),
	} {
		all = append(all, small{"token", 2, "", 0, s})
	}
	return append(all,
		small{"getset-timestamp", 2, "", 0, scripted("a clock that is off", faults.Spec{Fault: faults.SkewClient, Client: 1, By: faults.Span{Fixed: 2 * time.Second}})},
		small{"reentrant-hash", 2, "", 0, scripted("one owner for all", faults.Spec{Fault: faults.CollideOwners})},
		small{"token", 2, "", 2, plain},
		small{"set-nx-ex", 2, faults.PauseClient, 0, plain},
		small{"set-nx-ex", 2, "", 1, waiting},
		small{"redlock", 2, "", 0, oneMaster},
		small{"token", 2, "", 0, replicated},
		small{"redisson", 2, "", 0, waiting},
		small{"fair", 2, "", 0, waiting},
		small{"semaphore", 2, "", 0, waiting},
		small{"rw-lease", 2, "", 0, waiting},
		small{"fenced", 2, "", 0, plain},
		small{"token-native", 2, "", 0, plain},
		small{"redisson", 1, "", 0, plain},
	)
}

// placed are the faults that a walk can place.
func placed() []string { return slices.DeleteFunc(Placeable(), IsStanding) }

// reach walks a program and returns every end of a schedule: the violations, what each client did
// and received, and the data of the nodes.
func reach(t *testing.T, h *host, j searchJob, whole bool) (ends map[string]int, p progress) {
	t.Helper()
	s, err := newSearch(j, h)
	if err != nil {
		t.Fatal(err)
	}
	s.walk.whole = whole
	ends = map[string]int{}
	s.judge = func(ctx context.Context, out Outcome, _ bool) ([]broken, error) {
		all, err := judge(ctx, out, false)
		ends[end(h, out, all)]++
		return nil, err
	}
	if err := s.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !s.progress.Exhausted {
		t.Fatalf("the walk ended before all schedules were run: %+v", s.progress)
	}
	return ends, s.progress
}

// end describes an outcome. Instants are the bubble's: of the order of events within one, only the
// verdict counts.
func end(h *host, out Outcome, all []broken) string {
	var b strings.Builder
	for _, x := range all {
		fmt.Fprintf(&b, "%s excepted %v\n", x.key(), x.Excepted)
	}
	slices.SortStableFunc(out.Ops, func(x, y history.Operation) int { return strings.Compare(x.Client, y.Client) })
	for _, o := range out.Ops {
		fmt.Fprintf(&b, "%s %s %s %s %d-%d\n", o.Client, o.Op, o.Outcome, o.Err, o.Call/1000, o.Return/1000)
	}
	slices.SortStableFunc(out.Commands, func(x, y history.Command) int { return strings.Compare(x.Client, y.Client) })
	for _, c := range out.Commands {
		fmt.Fprintf(&b, "%s n%d %s %s\n", c.Client, c.Node+1, c.Name, c.Reply)
	}
	for _, n := range h.nodes {
		fmt.Fprintf(&b, "%x %v ", digest(n.Copy(time.Now())), n.down)
	}
	return b.String() + strings.Join(out.Stuck, " ")
}

// TestPruningLosesNothing compares the pruning walk with the enumeration of every schedule: both
// reach the same ends.
func TestPruningLosesNothing(t *testing.T) {
	h, saved := newTestHost(t), 0
	for _, s := range smalls() {
		t.Run(s.name(), func(t *testing.T) {
			begun := time.Now()
			whole, all := reach(t, h, s.job(t), true)
			took := time.Since(begun)
			pruned, some := reach(t, h, s.job(t), false)
			saved += some.Pruned
			for e, times := range whole {
				if pruned[e] == 0 {
					t.Errorf("pruning lost an end that %d schedules come to:\n%s", times, e)
				}
			}
			for e := range pruned {
				if whole[e] == 0 {
					t.Errorf("pruning made an end up:\n%s", e)
				}
			}
			t.Logf("%d schedules one by one in %v, %d when %d are pruned in %v; %d ends", all.Schedules, took, some.Schedules, some.Pruned, time.Since(begun)-took, len(whole))
		})
	}
	if saved == 0 {
		t.Error("nothing was pruned")
	}
}

// TestEveryFaultIsEnumerated: a new kind of fault must be compared with the enumeration too.
func TestEveryFaultIsEnumerated(t *testing.T) {
	compared := map[string]bool{}
	for _, s := range smalls() {
		compared[s.fault] = true
		for _, f := range s.job(t).Program.Faults {
			compared[f.Fault] = true
		}
	}
	for _, k := range faults.Kinds() {
		if !compared[k.Name] && k.Refusal(false, impls.Replicated) == "" {
			t.Errorf("no program of TestPruningLosesNothing has %s", k.Name)
		}
	}
}

// probe follows choices and hashes the state after the last one.
type probe struct {
	follow
	state uint64
	known bool
}

func (p *probe) choose(m moves) option {
	if len(p.choices) == 0 && !p.known {
		p.state, p.known = m.state()
	}
	return p.follow.choose(m)
}

// TestStatesApart: a difference in one thing alone makes two states.
func TestStatesApart(t *testing.T) {
	cases := []struct {
		lock  string
		shape shape
		a, b  string
	}{
		{"redlock", twoMasters, "partition-nodes n1 1.5s", "partition-nodes n2 1.5s"},
		{"redlock", twoMasters, "kill-server n1 100ms", "kill-server n2 100ms"},
		{"redlock", twoMasters, "pause-server n1 1.5s", "pause-server n2 1.5s"},
		{"redlock", twoMasters, "jump-clock n1 2s", "jump-clock n2 2s"},
		{"redlock", twoMasters, "lose-request c1-n1 SET#1", "lose-request c1-n2 SET#1"},
		{"redlock", twoMasters, "delay-request c1-n1 SET#1 1.5s", "delay-request c1-n2 SET#1 1.5s"},
		{"redlock", twoMasters, "request c1-n1 SET#1", "request c1-n2 SET#1"},
		{"token", plain, "pause-client c1 1.5s", "pause-client c2 1.5s"},
		{"token", plain, "blackhole-client c1 1.5s", "blackhole-client c2 1.5s"},
		{"token", plain, "crash-client c1", "crash-client c2"},
		{"token", plain, "cancel-client c1", "cancel-client c2"},
		{"token", plain, "pause-client c1 1.5s", "pause-client c1 until other-entered"},
		{"token", plain, "flush-scripts n1", "delete-key n1"},
		{"token", plain, "wait", "request c1-n1 SET#1"},
	}
	h := newTestHost(t)
	for _, c := range cases {
		t.Run(c.a+" and "+c.b, func(t *testing.T) {
			var states []uint64
			for _, do := range []string{c.a, c.b, c.a} {
				p := program(t, c.lock, "hot", 1)
				c.shape.change(&p)
				s := &probe{follow: follow{choices: []Choice{{Do: do}}}}
				out := simulate(t, h, p, s, Bounds{Faults: placed(), MaxFaults: 1, MaxWaits: 1, Instant: true})
				if s.missed > 0 || !s.known {
					t.Fatalf("%q could not be chosen; it sends %v", do, out.commandNames())
				}
				states = append(states, s.state)
			}
			if states[0] == states[1] {
				t.Error("one state")
			}
			if states[0] != states[2] {
				t.Error("the same schedule gives two states")
			}
		})
	}
}

// watcher is a lock that looks at its key and sets it in a transaction that watches it.
type watcher struct {
	badLock
	env impls.Env
}

func (l watcher) Try(ctx context.Context, _ history.Mode) (impls.Grant, error) {
	return impls.Grant{}, l.env.Redis().Watch(ctx, func(tx *redis.Tx) error {
		held, err := tx.Exists(ctx, l.env.Key).Result()
		if held > 0 || err != nil {
			return cmp.Or(err, impls.ErrBusy)
		}
		_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, l.env.Key, l.env.Owner, l.env.Lease).Err() })
		if errors.Is(err, redis.TxFailedErr) {
			return impls.ErrBusy
		}
		return err
	}, l.env.Key)
}

func (l watcher) Release(ctx context.Context) error { return l.env.Redis().Del(ctx, l.env.Key).Err() }

// TestNothingIsPrunedWhileKeysAreWatched: a state does not include what a node knows about watched
// keys, so nothing is pruned then; the walk reports the number of such states, and reaches the ends
// of the enumeration.
func TestNothingIsPrunedWhileKeysAreWatched(t *testing.T) {
	h := newTestHost(t)
	j := small{"token", 1, faults.PauseClient, 0, plain}.job(t)
	j.Program.Variant = impls.Variant{Name: "watcher", Kind: history.Mutex, Topology: impls.Standalone,
		New: func(env impls.Env) (impls.Lock, error) { return watcher{env: env}, nil }}
	all, _ := reach(t, h, j, true)
	some, p := reach(t, h, j, false)
	if p.Unhashed == 0 || p.Pruned == 0 {
		t.Errorf("%d states could not be told apart, %d schedules were pruned; want some of each", p.Unhashed, p.Pruned)
	}
	if a, b := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(some)); !slices.Equal(a, b) {
		t.Errorf("%d ends without pruning, %d with it, and not the same", len(a), len(b))
	}
}

// chancy is a lock in which the runtime decides, forty times, which of two ready cases a select
// takes.
type chancy struct{ watcher }

func (l chancy) Release(ctx context.Context) error {
	one, other, drawn := make(chan struct{}), make(chan struct{}), 0
	close(one)
	close(other)
	for range 40 {
		drawn *= 2
		select {
		case <-one:
			drawn++
		case <-other:
		}
	}
	return l.env.Redis().Set(ctx, l.env.Key, drawn, 0).Err()
}

// TestChanceIsNotExhausted: a walk does not claim to have run every schedule of a program that does
// not do the same every time, even if nothing is decided after the difference.
func TestChanceIsNotExhausted(t *testing.T) {
	p := small{"token", 1, "", 1, plain}.job(t).Program
	p.Variant = impls.Variant{Name: "chancy", Kind: history.Mutex, Topology: impls.Standalone,
		New: func(env impls.Env) (impls.Lock, error) { return chancy{watcher{env: env}}, nil }}
	s := New(nil)
	defer s.Close()
	r, err := s.Explore(t.Context(), ExploreConfig{Program: p, Strategy: Exhaustive, Bounds: Bounds{}, Seek: []string{"linearizability"}})
	if err != nil || r.Exhausted || r.Reason != notDeterministic {
		t.Errorf("exhausted %v, %q, %v; want %q", r.Exhausted, r.Reason, err, notDeterministic)
	}
}

// bound is a size of a walk.
type bound struct {
	clients, ops, faults, waits int
	of                          func(impls.Variant) []string
}

// ladder lists sizes of walks, each with about ten times the schedules of the one before.
var ladder = []bound{
	{clients: 1, ops: 1}, {clients: 2, ops: 1}, {2, 1, 1, 0, crashes}, {2, 1, 1, 0, injected}, {2, 1, 1, 1, injected}, {clients: 2, ops: 2},
	{2, 2, 1, 0, crashes}, {2, 2, 1, 0, injected}, {clients: 3, ops: 1}, {3, 1, 1, 0, crashes}, {3, 1, 1, 0, injected}, {2, 1, 2, 0, crashes}, {2, 1, 2, 0, injected},
	{2, 2, 2, 0, crashes}, {3, 1, 2, 0, crashes}, {2, 2, 2, 0, injected}, {3, 1, 2, 0, injected}, {2, 1, 3, 0, injected}, {clients: 3, ops: 2},
}

func crashes(impls.Variant) []string { return []string{faults.PauseClient, faults.CrashClient} }

// injected returns the faults that a lock of its kind must survive, as far as a walk can place
// them.
func injected(v impls.Variant) (all []string) {
	for _, f := range DefaultFaults(v) {
		if !IsStanding(f) {
			all = append(all, f)
		}
	}
	return all
}

func (b bound) config(v impls.Variant) ExploreConfig {
	p := DefaultProgram(v)
	p.Clients, p.Config.Ops = b.clients, b.ops
	bounds := Bounds{MaxFaults: b.faults, MaxWaits: b.waits}
	if b.of != nil {
		bounds.Faults = b.of(v)
	}
	return ExploreConfig{Program: p, Bounds: bounds, Strategy: Exhaustive, Known: catalogue.Known{}}
}

// TestLargestBoundsExhausted walks ever larger bounds of each correct lock for as long as
// LOCKBENCH_LARGEST says, and prints the largest that were exhausted; -run
// LargestBoundsExhausted/token is for one. See docs/simulator.md.
func TestLargestBoundsExhausted(t *testing.T) {
	limit, err := time.ParseDuration(os.Getenv("LOCKBENCH_LARGEST"))
	if err != nil {
		t.Skip("LOCKBENCH_LARGEST is no duration")
	}
	fmt.Println("| lock | largest bounds exhausted | schedules run | states | seconds |\n|---|---|---|---|---|")
	for _, name := range correct {
		t.Run(name, func(t *testing.T) {
			v, _ := catalogue.Find(name)
			fmt.Printf("| %s | %s |\n", name, largest(t, v, limit))
		})
	}
}

// largest walks ever larger bounds of a lock, with one process, and describes the largest that were
// exhausted within a time.
func largest(t *testing.T, v impls.Variant, limit time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	said := "none | | |"
	for _, b := range ladder {
		cfg := b.config(v)
		cfg.Workers = 1
		r, err := Explore(ctx, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.First != nil {
			t.Errorf("%s/%s:\n%s", r.First.Property, r.First.Cause, strings.Join(r.First.Steps, "\n"))
		}
		if !r.Exhausted {
			break
		}
		said = fmt.Sprintf("%d clients × %d operations, %d faults %s, %d waits | %d | %d | %.1f", b.clients, b.ops, b.faults,
			strings.Join(r.Bounds.Faults, ", "), b.waits, r.Schedules, r.States, r.Seconds)
	}
	return said
}
