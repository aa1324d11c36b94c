package checker_test

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// lawful draws what the clients of a correct server see, longer than what is searched as a whole. The clocks of the clients are off by constants.
func lawful(kind history.Kind, seed uint64) *pageGenerator {
	g := newPageGenerator(kind, seed)
	for g.h.Votes || g.h.FIFO {
		seed += 1 << 32
		g = newPageGenerator(kind, seed)
	}
	if g.told == 2 { // the lock tells its clients too much, which the sweep takes for what the server kept
		g.told = 1
	}
	g.tokens, g.named = 10, true // without them nobody knows which of a client's holds a release means
	for range 50 + g.IntN(40) {
		g.now += g.pause()
		g.step()
	}
	off := map[string]int64{}
	for i := range g.ops {
		op := &g.ops[i]
		if _, known := off[op.Client]; !known {
			off[op.Client] = g.Int64N(g.h.ClockError + 1)
		}
		by := off[op.Client]
		op.Call, op.Return = op.Call+by, op.Return+by
		if op.Asked != 0 {
			op.Asked += by
		}
		if op.ValidUntil != 0 {
			op.ValidUntil += by
		}
	}
	g.Shuffle(len(g.ops), func(i, j int) { g.ops[i], g.ops[j] = g.ops[j], g.ops[i] })
	return g
}

// TestLawfulRecordsPass: a record of a correct server breaks no rule of grants, refusals, accepted releases, extends and fences, however long it is.
func TestLawfulRecordsPass(t *testing.T) {
	for k, kind := range []history.Kind{history.Mutex, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			judged := 0
			for i := range uint64(soak(1000)) {
				g := lawful(kind, 1<<50+uint64(k)<<40+i)
				in, ops := g.inNanoseconds()
				in.Ops = history.NewSlice(ops)
				v, err := checker.Check(t.Context(), in, checker.Options{Bare: true})
				if err != nil {
					continue // the clocks made a client do two things at a time
				}
				for _, p := range v.Properties {
					switch p.Name {
					case verdicts.Refusal, verdicts.ReleaseSafety, verdicts.Linearizability, verdicts.FencingOrder:
						judged += p.Judged
						if p.Verdict == checker.Fail {
							t.Errorf("history %d: %s fails, %d times of %d, at %v\n%s", i, p.Name, p.Violations, p.Judged, instants(v, p.Name), g)
						}
					}
				}
				if t.Failed() {
					return
				}
			}
			if judged < 1000 {
				t.Errorf("%d opportunities were judged", judged)
			}
			t.Logf("%d opportunities judged", judged)
		})
	}
}

// instants returns when violations of a property began, in milliseconds.
func instants(v *checker.Verdict, p verdicts.Property) (at []int64) {
	for _, x := range v.Violations {
		if x.Property == p {
			at = append(at, x.At/millisecond)
		}
	}
	return at
}
