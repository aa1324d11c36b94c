package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestMetamorphic changes what must not matter, in lawful records and in broken ones.
func TestMetamorphic(t *testing.T) {
	changes := []struct {
		name   string
		change func(r *rand.Rand, in *Input, ops []history.Operation) []history.Operation
	}{
		{"shuffled lines", func(r *rand.Rand, _ *Input, ops []history.Operation) []history.Operation {
			r.Shuffle(len(ops), func(i, j int) { ops[i], ops[j] = ops[j], ops[i] })
			return ops
		}},
		{"an idle client", func(_ *rand.Rand, _ *Input, ops []history.Operation) []history.Operation {
			return append(ops, history.Operation{ID: 1 << 40, Client: "idle", Key: "another", Op: history.Release, Outcome: history.Unknown})
		}},
		{"a fault elsewhere", func(_ *rand.Rand, in *Input, ops []history.Operation) []history.Operation {
			in.Faults = append(slices.Clone(in.Faults), history.Window{Fault: "pause-client", Does: history.Stops, Client: "nobody", Node: -1, End: 1 << 60, Confirmed: true})
			return ops
		}},
		{"a fault that was not confirmed", func(_ *rand.Rand, in *Input, ops []history.Operation) []history.Operation {
			in.Faults = append(slices.Clone(in.Faults), history.Window{Fault: "kill-server", Does: history.Kills | history.LosesData, Node: 0, End: 1 << 60})
			return ops
		}},
		{"shifted times", func(_ *rand.Rand, in *Input, ops []history.Operation) []history.Operation {
			const by = 1 << 50
			for i := range ops {
				o := &ops[i]
				o.Call, o.Return = o.Call+by, o.Return+by
				if o.Asked != 0 {
					o.Asked += by
				}
				if o.ValidUntil != 0 {
					o.ValidUntil += by
				}
			}
			in.Faults = slices.Clone(in.Faults)
			for i := range in.Faults {
				in.Faults[i].Start, in.Faults[i].End = in.Faults[i].Start+by, in.Faults[i].End+by
			}
			return ops
		}},
		{"other names", func(_ *rand.Rand, in *Input, ops []history.Operation) []history.Operation {
			names := map[string]string{"c1": "z", "c2": "y", "c3": "x", "c4": "w", "c5": "v"}
			for i := range ops {
				ops[i].Client = names[ops[i].Client]
			}
			in.Faults = slices.Clone(in.Faults)
			for i := range in.Faults {
				in.Faults[i].Client = names[in.Faults[i].Client]
			}
			return ops
		}},
	}
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			for seed := range histories(400) {
				kind, what := kinds[seed%4], []string{"", "early-grant", "refused-free", "lower-fence", "ends-anothers", "lost-update"}[seed%6]
				s := simulate(kind, seed, what)
				plain := verdictOf(t, Input{Header: s.h, Faults: s.faults}, slices.Clone(s.ops), Options{Seed: 1, Bare: true})
				in := Input{Header: s.h, Faults: s.faults}
				ops := c.change(rand.New(rand.NewPCG(seed, 1)), &in, slices.Clone(s.ops))
				changed := verdictOf(t, in, ops, Options{Seed: 1, Bare: true})
				if a, b := counts(plain), counts(changed); a != b {
					t.Fatalf("%s, %s, seed %d:\n%s\n%s", kind, what, seed, a, b)
				}
			}
		})
	}
}

// counts returns what was found and judged, but for windows, which are drawn by the order of keys.
func counts(v *Verdict) string {
	var b strings.Builder
	for _, p := range v.Properties {
		if p.Name != "linearizability" {
			fmt.Fprintf(&b, "%s %s %d of %d, not %v\n", p.Name, p.Verdict, p.Violations, p.Judged, p.NotJudged)
		}
	}
	return b.String()
}
