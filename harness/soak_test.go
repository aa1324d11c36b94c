package harness

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// soakSide is how many experiments run at once.
const soakSide = 3

// TestSoak runs any lock under any faults, drawn from a seed, on servers that are processes: for three seconds, or as long as
// LOCKBENCH_SOAK says ("30m"). No run may fail for a reason of its own, no fault may go unconfirmed in a run that passes, and nothing may be left behind.
func TestSoak(t *testing.T) {
	p := provider(t, "process")
	length := 3 * time.Second
	if text := os.Getenv("LOCKBENCH_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("LOCKBENCH_SOAK: %v", err)
		}
		length = d
	}
	s := &soak{provider: p, counts: map[checker.Result]int{}}
	s.one(t, 0) // what is made once is there before anything is counted
	before := holdings(t)
	end := time.Now().Add(length)
	var group sync.WaitGroup
	for range soakSide {
		group.Go(func() {
			for time.Now().Before(end) && !t.Failed() {
				s.one(t, s.seed.Add(1))
			}
		})
	}
	group.Wait()
	t.Logf("%d experiments, %d faults: %v; causes unknown in %v", s.seed.Load(), s.faults, s.counts, s.unknown)
	before.expectNoMore(t)
}

// soak is what the experiments of a soak come to.
type soak struct {
	provider servers.Provider
	seed     atomic.Uint64

	mu      sync.Mutex // protects what follows
	counts  map[checker.Result]int
	faults  int
	unknown []string // experiments with a violation whose cause nobody knows
}

// one runs the experiment of a seed.
func (s *soak) one(t *testing.T, seed uint64) {
	e := soakExperiment(t, seed)
	e.Provider = s.provider
	what := fmt.Sprintf("seed %d: %s, %s, %+v", seed, e.Variant.Name, e.As, e.Scenario.Faults)
	out, err := Run(t.Context(), e)
	if errors.Is(err, impls.ErrUnsupported) {
		return // this server does not know the lock's commands
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[out.Verdict.Verdict]++
	s.faults += len(out.Windows)
	if out.Verdict.Verdict == checker.Pass && !allConfirmed(e.Scenario, out.Windows) {
		t.Errorf("%s: passed, and not every fault was confirmed: %+v", what, out.Windows)
	}
	for _, b := range results.Observed(out.Result) {
		if strings.HasSuffix(b.String(), "/"+string(history.CauseUnknown)) {
			s.unknown = append(s.unknown, fmt.Sprintf("seed %d %s %s", seed, e.Variant.Name, b))
		}
	}
}

// allConfirmed tells whether every fault of a plan struck and was seen to.
func allConfirmed(sc scenarios.Scenario, windows []history.Window) bool {
	struck := map[string]bool{}
	for _, w := range windows {
		if !w.Confirmed {
			return false
		}
		struck[w.Fault] = true
	}
	for _, f := range sc.Faults {
		if !struck[f.Fault] && f.Fault != faults.SlowWork {
			return false
		}
	}
	return true
}

// soakExperiment draws a lock, what clients are, and up to three faults.
func soakExperiment(t *testing.T, seed uint64) Experiment {
	d := draw{mathrand.New(mathrand.NewPCG(seed, 0x50a4))}
	locks := catalogue.Locks()
	v := locks[d.IntN(len(locks))]
	for v.Topology == impls.Cluster {
		v = locks[d.IntN(len(locks))]
	}
	sc := d.scenario(v)
	text, err := sc.YAML()
	if err == nil {
		sc, err = scenarios.Parse(fmt.Sprintf("seed %d", seed), text)
	}
	if err != nil {
		t.Fatalf("the drawn scenario makes no sense: %v\n%s", err, text)
	}
	as := Goroutines
	if d.IntN(3) == 0 {
		as = Processes
	}
	return Experiment{Variant: v, Scenario: sc.Resolve(seed, v.Topology), Seed: seed, As: as, Now: time.Now, Random: rand.Reader}
}

// draw makes the choices of one experiment.
type draw struct{ *mathrand.Rand }

func (d draw) scenario(v impls.Variant) scenarios.Scenario {
	s := scenarios.Scenario{Name: "soak", About: "drawn", Workload: "counter", Topology: v.Topology, Clients: 3, Ops: 3,
		Lease: span(300 * time.Millisecond), Think: span(30 * time.Millisecond), Pause: span(10 * time.Millisecond), Wait: span(2 * time.Second),
		Poll: span(5 * time.Millisecond), Persistence: pick(d, servers.PersistNone, servers.PersistEverySec, servers.PersistAlways)}
	switch v.Kind {
	case history.RW:
		s.Workload = "read-mostly"
	case history.Reentrant:
		s.Workload = pick(d, "counter", "nested")
	case history.Semaphore:
		s.Workload, s.Permits = "hot", 2
	}
	if cmp.Or(v.Topology, impls.Standalone) == impls.Standalone && d.IntN(3) == 0 {
		s.Topology = impls.Replicated
	}
	kinds := faults.Kinds()
	for len(s.Faults) < 1+d.IntN(3) {
		k := kinds[d.IntN(len(kinds))]
		if k.Name != faults.Failover || s.Topology == impls.Replicated {
			s.Faults = append(s.Faults, d.fault(k))
		}
	}
	return s
}

// fault draws a fault of a kind: who, when, how long and how much.
func (d draw) fault(k faults.Kind) faults.Spec {
	f := faults.Spec{Fault: k.Name}
	if !k.OnlyStart && !(k.FromStart && d.IntN(2) == 0) {
		f.When = d.trigger(k.Name)
		f.Times = d.IntN(3)
	}
	for _, u := range k.Uses {
		if !u.Required && d.IntN(2) == 0 {
			continue
		}
		switch u.Field {
		case "for":
			f.For = faults.Span{Leases: 0.1 + 1.5*d.Float64()}
		case "until":
			f.Until = faults.OtherEntered
		case "by":
			f.By = d.size(k.Name)
		case "rate":
			f.Rate = map[string]float64{faults.DriftClock: 0.5 + 1.5*d.Float64(), faults.SlowNetwork: 1e5}[k.Name]
		}
	}
	return f
}

func (d draw) size(fault string) faults.Span {
	if fault == faults.SlowNetwork {
		return span(time.Duration(1+d.IntN(10)) * time.Millisecond)
	}
	return faults.Span{Leases: 4*d.Float64() - 2}
}

func (d draw) trigger(fault string) faults.Trigger {
	command := pick(d, "acquire", "acquire *w", "release", "release *w", "use", "any")
	t := faults.Trigger{Nth: d.IntN(3)}
	switch fault {
	case faults.LoseRequest, faults.DelayRequest:
		t.Request = command
		return t
	case faults.LoseReply, faults.DelayReply:
		t.Reply = command
		return t
	case faults.SlowWork:
		t.Moment = "entered"
		return t
	}
	switch d.IntN(5) {
	case 0:
		t.Request = command
	case 1:
		t.Reply = command
	case 2:
		return faults.Trigger{Within: span(500 * time.Millisecond)}
	default:
		t.Moment = string(pick(d, history.Calling, history.Granted, history.Entered, history.BeforeRelease))
	}
	return t
}

func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

func span(d time.Duration) faults.Span { return faults.Span{Fixed: d} }

// held is what this process holds of the machine.
type held struct {
	goroutines, files, children int
	heap                        uint64
}

func holdings(t *testing.T) held {
	t.Helper()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return held{runtime.NumGoroutine(), len(files), len(children(t)), m.HeapAlloc}
}

// children lists the processes that this one started and that are there still.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	var pids []string
	for _, task := range tasks {
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children") // a thread that has ended has none
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}

// settleTime is how long what ends by itself may take: the connections of a Redis client that was closed.
const settleTime = 5 * time.Second

// heapRoom is how much the heap of a soak may grow: pools and caches, not experiments.
const heapRoom = 32 << 20

func (h held) expectNoMore(t *testing.T) {
	t.Helper()
	var now held
	for end := time.Now().Add(settleTime); ; time.Sleep(50 * time.Millisecond) {
		now = holdings(t)
		if now.goroutines <= h.goroutines && now.files <= h.files && now.children <= h.children || time.Now().After(end) {
			break
		}
	}
	t.Logf("before %+v, after %+v", h, now)
	if now.goroutines > h.goroutines || now.files > h.files || now.children > h.children || now.heap > h.heap+heapRoom {
		t.Errorf("left behind: %+v, there was %+v; children %v", now, h, children(t))
	}
}
