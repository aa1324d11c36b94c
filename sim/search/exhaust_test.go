package search

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
	"github.com/lockbench/lockbench/sim"
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
	change func(*sim.Program)
}

var (
	plain      = shape{"nobody waits", func(*sim.Program) {}}
	waiting    = shape{"who is refused waits", func(p *sim.Program) { p.Config.AcquireWait, p.Poll = p.Config.Lease, p.Config.Lease*3/5 }}
	replicated = shape{"a pair", func(p *sim.Program) { p.Topology = impls.Replicated }}
	oneMaster  = shape{"one master", func(p *sim.Program) { p.Nodes, p.Topology = 1, impls.Independent }}
	twoMasters = shape{"two masters", func(p *sim.Program) { p.Nodes, p.Topology = 2, impls.Independent }}
)

// scripted is a shape with a fault placed by the program, not by the walk.
func scripted(name string, s faults.Spec) shape {
	return shape{name, func(p *sim.Program) { waiting.change(p); p.Faults = []faults.Spec{s} }}
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
	b := sim.Bounds{MaxWaits: s.waits}
	if s.fault != "" {
		b.Faults, b.MaxFaults = []string{s.fault}, 1
	}
	return searchJob{Config: Config{Program: p, Bounds: b, Strategy: Exhaustive}, Parts: 1}
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
func placed() []string { return slices.DeleteFunc(sim.Placeable(), sim.IsStanding) }

// reach walks a program and returns every end of a schedule: the violations, what each client did
// and received, and the data of the nodes.
func ends(t *testing.T, h *sim.Simulator, j searchJob, whole bool) (ends map[string]int, p progress) {
	t.Helper()
	s, err := newSearch(j, h)
	if err != nil {
		t.Fatal(err)
	}
	s.walk.Whole = whole
	ends = map[string]int{}
	s.judge = func(ctx context.Context, out sim.Outcome, _ bool) ([]broken, history.Reach, error) {
		all, err := judgeOne(ctx, out, false)
		ends[end(out, all)]++
		return nil, nil, err
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
func end(out sim.Outcome, all []broken) string {
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
	data := map[string]*history.Datum{} // by node and key
	for _, e := range out.Effects {
		for _, c := range e.Changes {
			data[fmt.Sprintf("n%d %s", e.Node+1, c.Key)] = c.After
		}
	}
	for _, at := range slices.Sorted(maps.Keys(data)) {
		if d := data[at]; d != nil {
			fmt.Fprintf(&b, "%s = %v until %d\n", at, d.Value, d.Until/1000)
		}
	}
	return b.String() + strings.Join(out.Stuck, " ")
}

// TestPruningLosesNothing compares the pruning walk with the enumeration of every schedule: both
// reach the same ends.
func TestPruningLosesNothing(t *testing.T) {
	h, saved := newSimulator(t), 0
	for _, s := range smalls() {
		t.Run(s.name(), func(t *testing.T) {
			begun := time.Now()
			whole, all := ends(t, h, s.job(t), true)
			took := time.Since(begun)
			pruned, some := ends(t, h, s.job(t), false)
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
	h := newSimulator(t)
	j := small{"token", 1, faults.PauseClient, 0, plain}.job(t)
	j.Program.Variant = impls.Variant{Name: "watcher", Kind: history.Mutex, Topology: impls.Standalone,
		New: func(env impls.Env) (impls.Lock, error) { return watcher{env: env}, nil }}
	all, _ := ends(t, h, j, true)
	some, p := ends(t, h, j, false)
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
	s := sim.New(nil)
	defer s.Close()
	r, err := Here(t.Context(), Config{Program: p, Strategy: Exhaustive, Bounds: sim.Bounds{}, Seek: []string{"linearizability"}}, []sim.Runner{s}, nil)
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

// injected returns the faults that a lock of its kind must survive and that a walk can place.
func injected(v impls.Variant) (all []string) {
	for _, f := range sim.DefaultFaults(v) {
		if !sim.IsStanding(f) {
			all = append(all, f)
		}
	}
	return all
}

func (b bound) config(v impls.Variant) Config {
	p := sim.DefaultProgram(v)
	p.Clients, p.Config.Ops = b.clients, b.ops
	bounds := sim.Bounds{MaxFaults: b.faults, MaxWaits: b.waits}
	if b.of != nil {
		bounds.Faults = b.of(v)
	}
	return Config{Program: p, Bounds: bounds, Strategy: Exhaustive, Known: catalogue.Known{}}
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
