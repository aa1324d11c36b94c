package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// TestSoak runs any lock under any faults, drawn from a seed: for three seconds each in the
// simulator, on processes and on containers, or LOCKBENCH_SOAK experiments on processes and a fifth
// of that on the others. It fails if a run ends with an error of the harness, a run passes with an
// unconfirmed fault, a violation has no cause and the catalogue does not explain it, a lock
// violates what its faults cannot violate, or anything is left behind. go test -artifacts keeps the
// runs with failures.
func TestSoak(t *testing.T) {
	var times uint64
	if text := os.Getenv("LOCKBENCH_SOAK"); text != "" {
		var err error
		if times, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("LOCKBENCH_SOAK: %v", err)
		}
	}
	t.Run("sim", func(t *testing.T) {
		one := &Sim{Schedules: 1}
		defer func() { _ = one.Close() }()
		newSoak(one, t.TempDir()).run(t, times/5)
	})
	t.Run("process", func(t *testing.T) {
		provider(t, "process")
		dir := t.TempDir()
		newSoak(servers.NewProcess(servers.ProcessOptions{TempDir: dir}), dir).run(t, times)
	})
	t.Run("docker", func(t *testing.T) {
		provider(t, "docker")
		dir := t.TempDir()
		newSoak(servers.NewDocker(servers.DockerOptions{TempDir: dir}), dir).run(t, times/5)
	})
}

// soak sums up the experiments of a soak.
type soak struct {
	provider servers.Provider
	dir      string // directory of its servers' data
	seed     atomic.Uint64

	mu     sync.Mutex // guards the fields below
	counts map[checker.Result]int
	faults map[string]int // that were injected, by name
	tried  int            // experiments with a correct lock and faults that it must survive
}

func newSoak(p servers.Provider, dir string) *soak {
	return &soak{provider: p, dir: dir, counts: map[checker.Result]int{}, faults: map[string]int{}}
}

// run runs at least so many experiments concurrently, for three seconds at least.
func (s *soak) run(t *testing.T, times uint64) {
	s.one(t, 0) // so that resources created once exist before counting
	before := holdings(t, s.dir)
	end := time.Now().Add(3 * time.Second)
	var group sync.WaitGroup
	for range soakSide {
		group.Go(func() {
			for time.Now().Before(end) || s.seed.Load() < times {
				s.one(t, s.seed.Add(1))
			}
		})
	}
	group.Wait()
	t.Logf("%d experiments: %v; faults that were injected %v; %d of sound locks under faults that must not break them", s.seed.Load(), s.counts, s.faults, s.tried)
	before.expectNoMore(t, s.dir)
}

// one runs the experiment of a seed.
func (s *soak) one(t *testing.T, seed uint64) {
	e := soakExperiment(t, seed)
	e.Provider, e.Base = s.provider, filepath.Join(t.ArtifactDir(), fmt.Sprint(seed))
	what := fmt.Sprintf("seed %d: %s, %s, %+v", seed, e.Variant.Name, e.As, e.Scenario.Faults)
	out, err := Run(t.Context(), e)
	if errors.Is(err, impls.ErrUnsupported) { // this server lacks the lock's commands
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

// inDoubt reports whether it is unknown if a fault had an effect: a server that died during an
// eviction can no longer be asked. Such a fault explains nothing, and violations beside it stay
// without a cause.
func inDoubt(w history.Window) bool { return !w.Confirmed }

// forget removes the files of an experiment.
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

// inCatalogue reports whether the catalogue expects, and explains, that a lock breaks so under one
// of the experiment's faults.
func inCatalogue(e Experiment, b verdicts.Break) bool {
	for _, sc := range scenarios.Builtin() {
		want, ok := e.Variant.Expect[sc.Name]
		if !ok || len(sc.Faults) == 0 || !slices.Contains(slices.Concat(want.Breaks, want.May, want.Real), b) {
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

// comesTooLate names the fault to which a longer one of its kind amounts: the client has given up
// before the delayed message comes.
var comesTooLate = map[string]string{faults.DelayReply: faults.LoseReply, faults.DelayRequest: faults.LoseRequest}

// sound lists the locks that survive all faults of clients and of the network.
var sound = []string{"token", "token-wait", "redlock", "redisson", "fenced", "rw-lease", "fair", "semaphore"}

// mustHold lists the properties that no fault of an experiment can violate. It is the soak's own
// judgement, independent of the checker.
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

// allConfirmed reports whether every fault of a plan was injected and confirmed.
func allConfirmed(sc scenarios.Scenario, windows []history.Window) bool {
	injected := map[string]bool{}
	for _, w := range windows {
		if !w.Confirmed {
			return false
		}
		injected[w.Fault] = true
	}
	for _, f := range sc.Faults {
		if !injected[f.Fault] && f.Fault != faults.SlowWork {
			return false
		}
	}
	return true
}
