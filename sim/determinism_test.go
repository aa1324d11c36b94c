package sim

import (
	"os"
	"strconv"
	"testing"

	"github.com/lockbench/lockbench/faults"
)

// everyFault is what a search may place on a single node.
var everyFault = []string{
	faults.PauseClient, faults.CrashClient, faults.CancelClient, faults.BlackholeClient, faults.LoseRequest, faults.LoseReply,
	faults.DelayRequest, faults.DelayReply, faults.KillServer, faults.PauseServer, faults.JumpClock, faults.FlushScripts, faults.DeleteKey,
}

// seeds is how many seeds the test runs: LOCKBENCH_SOAK says how many, 100 by default.
func seeds(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK"))
	if err != nil {
		return 100
	}
	return n
}

// TestSameSeedSameTrace runs each seed twice, on different nodes and in another order, and wants the same trace.
func TestSameSeedSameTrace(t *testing.T) {
	bounds := Bounds{Faults: everyFault, MaxFaults: 2, MaxWaits: 3}
	for _, lock := range []string{"set-nx-ex", "token"} {
		p := program(t, lock, "counter", 2)
		run := func(h *host, seed uint64, trace bool) Outcome {
			p.Seed = seed
			out, err := h.run(p, newRandom(seed, bounds, 40), bounds, trace)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		one, two := newHost(nil), newHost(nil)
		defer one.close()
		defer two.close()
		n := seeds(t)
		hashes := make([]uint64, n)
		for seed := range n {
			hashes[seed] = run(one, uint64(seed), false).Hash
		}
		different := 0
		for seed := n - 1; seed >= 0; seed-- {
			if run(two, uint64(seed), false).Hash != hashes[seed] {
				if different == 0 {
					a, b := run(one, uint64(seed), true), run(two, uint64(seed), true)
					t.Errorf("%s, seed %d: two traces", lock, seed)
					for i := range max(len(a.Trace), len(b.Trace)) {
						t.Logf("%s\n%s", at(a.Trace, i), at(b.Trace, i))
					}
				}
				different++
			}
		}
		if different > 0 {
			t.Errorf("%s: %d of %d seeds gave two traces", lock, different, n)
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}
