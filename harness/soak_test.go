package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/verdicts"
)

// soakSide is how many experiments run at once.
const soakSide = 3

// TestSoak runs any lock under any faults, drawn from a seed: for three seconds in the simulator, on processes and on containers each, or as long as
// LOCKBENCH_SOAK says ("30m") on processes and a fifth of that elsewhere. No run may fail for a reason of its own, no fault may go unconfirmed in
// a run that passes, no violation may be without a cause that the catalogue does not explain, no lock may break what its drawn faults cannot break, and nothing may be left behind.
// go test -artifacts keeps the runs at which it stumbles.
func TestSoak(t *testing.T) {
	length := 3 * time.Second
	long := length
	if text := os.Getenv("LOCKBENCH_SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("LOCKBENCH_SOAK: %v", err)
		}
		long, length = d, d/5
	}
	t.Run("sim", func(t *testing.T) {
		one := &Sim{Schedules: 1}
		defer func() { _ = one.Close() }()
		newSoak(one, t.TempDir()).run(t, length)
	})
	t.Run("process", func(t *testing.T) {
		provider(t, "process")
		dir := t.TempDir()
		newSoak(servers.NewProcess(servers.ProcessOptions{TempDir: dir}), dir).run(t, long)
	})
	t.Run("docker", func(t *testing.T) {
		provider(t, "docker")
		dir := t.TempDir()
		newSoak(servers.NewDocker(servers.DockerOptions{TempDir: dir}), dir).run(t, length)
	})
}

// soak is what the experiments of a soak come to.
type soak struct {
	provider servers.Provider
	dir      string // where its servers keep what they have
	seed     atomic.Uint64

	mu     sync.Mutex // guards the fields below
	counts map[checker.Result]int
	faults map[string]int // struck, by name
	tried  int            // experiments of a sound lock under faults that must not break it
}

func newSoak(p servers.Provider, dir string) *soak {
	return &soak{provider: p, dir: dir, counts: map[checker.Result]int{}, faults: map[string]int{}}
}

// run runs experiments side by side for a while.
func (s *soak) run(t *testing.T, length time.Duration) {
	s.one(t, 0) // what is made once is there before anything is counted
	before := holdings(t, s.dir)
	end := time.Now().Add(length)
	var group sync.WaitGroup
	for range soakSide {
		group.Go(func() {
			for time.Now().Before(end) {
				s.one(t, s.seed.Add(1))
			}
		})
	}
	heap := heapUntil(end)
	group.Wait()
	t.Logf("%d experiments: %v; faults that struck %v; %d of sound locks under faults that must not break them", s.seed.Load(), s.counts, s.faults, s.tried)
	heap.expectFlat(t)
	before.expectNoMore(t, s.dir)
}

// one runs the experiment of a seed.
func (s *soak) one(t *testing.T, seed uint64) {
	e := soakExperiment(t, seed)
	e.Provider, e.Base = s.provider, filepath.Join(t.ArtifactDir(), fmt.Sprint(seed))
	what := fmt.Sprintf("seed %d: %s, %s, %+v", seed, e.Variant.Name, e.As, e.Scenario.Faults)
	out, err := Run(t.Context(), e)
	if errors.Is(err, impls.ErrUnsupported) { // this server does not know the lock's commands
		s.forget(t, e)
		return
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if out.Verdict.Verdict == checker.Pass && !allConfirmed(e.Scenario, out.Windows) {
		t.Errorf("%s: passed, and not every fault was confirmed: %+v", what, out.Windows)
	}
	must, odd := mustHold(e), false
	for _, b := range results.Observed(out.Result) {
		property, cause, _ := strings.Cut(b.String(), "/")
		unexplained := cause == string(verdicts.CauseUnknown) && !inCatalogue(e, b) && !slices.ContainsFunc(out.Windows, inDoubt)
		if unexplained || slices.Contains(must, verdicts.Property(property)) {
			t.Errorf("%s: %s; %+v", what, b, out.Windows)
			odd = true
		}
	}
	if !odd {
		s.forget(t, e)
	}
	s.count(out, len(must) > 0)
}

// inDoubt tells a fault that may have done harm or not: a server that died while it was made to evict a key can no longer be asked. It explains
// nothing, and what is seen beside it stays without a cause.
func inDoubt(w history.Window) bool { return !w.Confirmed }

// forget removes what was kept of an experiment.
func (*soak) forget(t *testing.T, e Experiment) {
	if err := os.RemoveAll(e.Base); err != nil {
		t.Error(err)
	}
}

func (s *soak) count(out *Outcome, tried bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[out.Verdict.Verdict]++
	for _, w := range out.Windows {
		s.faults[w.Fault]++
	}
	if tried {
		s.tried++
	}
}

// inCatalogue reports whether the catalogue has it, and says why, that a lock breaks so under one of the experiment's faults.
func inCatalogue(e Experiment, b verdicts.Break) bool {
	for _, sc := range scenarios.Builtin() {
		want, ok := e.Variant.Expect[sc.Name]
		if !ok || len(sc.Faults) == 0 || !slices.Contains(slices.Concat(want.Breaks, want.May), b) {
			continue
		}
		foreign := func(f faults.Spec) bool {
			return !slices.ContainsFunc(e.Scenario.Faults, func(g faults.Spec) bool { return g.Fault == f.Fault || comesTooLate[g.Fault] == f.Fault })
		}
		if !slices.ContainsFunc(sc.Faults, foreign) {
			return true
		}
	}
	return false
}

// comesTooLate names the fault that a longer one of its kind amounts to: the client has given up what comes so late.
var comesTooLate = map[string]string{faults.DelayReply: faults.LoseReply, faults.DelayRequest: faults.LoseRequest}

// sound are the locks that keep their promise whatever happens to clients and to the network.
var sound = []string{"token", "token-wait", "redlock", "redisson", "fenced", "rw-lease", "fair", "semaphore"}

// mustHold lists the properties that no fault of an experiment can break. It is the soak's own opinion, which the checker does not know.
func mustHold(e Experiment) []verdicts.Property {
	if !slices.Contains(sound, e.Variant.Name) {
		return nil
	}
	for _, f := range e.Scenario.Faults {
		switch k, _ := faults.FindKind(f.Fault); {
		case k.On == faults.OneClient, k.Name == faults.SlowNetwork, k.Name == faults.PartitionNodes, k.Name == faults.CutPubSub,
			k.Name == faults.PauseServer, k.Name == faults.FlushScripts:
		default:
			return nil
		}
	}
	hold := []verdicts.Property{verdicts.MutualExclusion, verdicts.ReleaseSafety, verdicts.Linearizability, verdicts.FencingOrder}
	if e.Variant.Name == "fenced" {
		hold = append(hold, verdicts.StoreIntegrity)
	}
	return hold
}

// allConfirmed reports whether every fault of a plan struck and was seen to.
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
