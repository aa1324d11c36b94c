package checker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// broken lists the properties that a history breaks, without those that depend on the time between its parts.
func (g *pageGenerator) broken(t *testing.T, opt checker.Options) (out []verdicts.Property, v *checker.Verdict) {
	in, ops := g.inNanoseconds()
	in.Ops = history.NewSlice(ops)
	opt.Bare = true
	v, err := checker.Check(t.Context(), in, opt)
	if err != nil {
		return nil, nil
	}
	if all := contradictions(v); len(all) > 0 {
		t.Errorf("%v\n%s", all, g)
	}
	for _, p := range v.Properties {
		if p.Verdict == checker.Fail && p.Name != verdicts.Progress && p.Name != verdicts.StoreIntegrity {
			out = append(out, p.Name)
		}
	}
	return out, v
}

// after appends a history of the same lock after a pause, with tokens, ids and fences of its own.
func (g *pageGenerator) after(o *pageGenerator, from int64, n int) {
	for _, op := range o.ops {
		op.ID += uint64(n) * 1000
		op.Call, op.Return = op.Call+from, op.Return+from
		if op.Asked != 0 {
			op.Asked += from
		}
		if op.ValidUntil != 0 {
			op.ValidUntil += from
		}
		if op.Fence != 0 {
			op.Fence += uint64(n) * 1000
		}
		if op.Token != "" && g.h.Kind != history.Reentrant {
			op.Token = fmt.Sprint(n, op.Token)
		}
		g.ops = append(g.ops, op)
	}
}

// rename gives a history its own clients, unless its tokens identify the holds.
func (g *pageGenerator) rename(n int) {
	tokens := g.h.Kind != history.Reentrant && !slices.ContainsFunc(g.ops, func(op history.Operation) bool {
		return op.Token == "" && (op.Op != history.Acquire || op.Outcome == history.OK)
	})
	for i := range g.ops {
		if op := &g.ops[i]; !tokens {
			op.Client += fmt.Sprint(n)
			if op.Token != "" {
				op.Token += fmt.Sprint(n)
			}
		}
	}
}

// simple reports whether a history leaves nothing open to those after it.
func (g *pageGenerator) simple() bool {
	return g.h.Lease > 0 && !g.h.Votes && len(g.ops) > 0 && !slices.ContainsFunc(g.ops, func(op history.Operation) bool {
		return op.Op == history.Write || op.Op == history.Acquire && op.Outcome == history.Unknown
	})
}

// like draws a history of the same lock.
func (g *pageGenerator) like(t *testing.T, kind history.Kind, seed uint64) *pageGenerator {
	for ; ; seed += 1 << 30 {
		o := newPageGenerator(kind, seed)
		o.h = g.h
		for range 3 + o.IntN(6) {
			o.now += o.pause()
			o.step()
		}
		if o.IntN(6) == 0 {
			o.spoil(&o.ops[o.IntN(len(o.ops))])
		}
		if o.simple() {
			if _, v := o.broken(t, checker.Options{}); v != nil {
				return o
			}
		}
	}
}

// TestLongRecordsBreakWhatTheirPartsBreak: a sequence of histories, too long to be searched as a whole, breaks what each of them breaks.
func TestLongRecordsBreakWhatTheirPartsBreak(t *testing.T) {
	for k, kind := range []history.Kind{history.Mutex, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			fails, passes := 0, 0
			for i := range uint64(soak(100)) {
				seed := uint64(k)<<40 + i*100
				g := newPageGenerator(kind, seed)
				for g.h.Lease == 0 || g.h.Votes {
					seed += 1 << 32
					g = newPageGenerator(kind, seed)
				}
				g.h.ClockError = 0 // with a clock error nothing is cut
				want := map[verdicts.Property]bool{}
				for n := range 12 {
					o := g.like(t, kind, seed+uint64(n)+1)
					broken, _ := o.broken(t, checker.Options{})
					for _, p := range broken {
						want[p] = true
					}
					o.rename(n)
					g.after(o, g.now, n)
					g.now += o.now + 8*(g.h.Lease+g.h.Drift+10)
				}
				g.Shuffle(len(g.ops), func(i, j int) { g.ops[i], g.ops[j] = g.ops[j], g.ops[i] })
				got, v := g.broken(t, checker.Options{})
				if v == nil {
					t.Fatalf("seed %d: not well formed", seed)
				}
				if len(want) > 0 {
					fails++
				} else {
					passes++
				}
				same := len(got) == len(want)
				for _, p := range got {
					same = same && want[p]
				}
				if !same {
					t.Fatalf("seed %d: together they break %v, apart %v\n%s", seed, got, want, g)
				}
			}
			t.Logf("%d break something, %d nothing", fails, passes)
			if fails == 0 || passes == 0 {
				t.Error("the histories are all of one sort")
			}
		})
	}
}

// TestPartsAgreeWithTheWhole compares the search in parts with that of the whole, for records just too long for it, with holds that last over the
// pauses.
func TestPartsAgreeWithTheWhole(t *testing.T) {
	for k, kind := range []history.Kind{history.Mutex, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			counts := map[string]int{}
			for i := range uint64(soak(40)) {
				seed := uint64(k)<<41 + i
				g := newPageGenerator(kind, seed)
				r := rand.New(rand.NewPCG(seed, 3))
				g.h.ClockError = 0
				for g.h.Lease == 0 {
					g.h.Lease = []int64{3, 5, 20, 100}[r.IntN(4)]
				}
				for len(g.ops) < 42+r.IntN(20) {
					g.now += g.pause()
					if r.IntN(4) == 0 {
						g.now += r.Int64N(3 * g.h.Lease)
					}
					g.step()
				}
				g.ops = slices.DeleteFunc(g.ops, func(op history.Operation) bool { return op.Op == history.Write })
				if r.IntN(2) == 0 {
					g.spoil(&g.ops[r.IntN(len(g.ops))])
				}
				parts, v := g.broken(t, checker.Options{})
				if v == nil {
					continue
				}
				whole, v := g.broken(t, checker.Options{}.Whole())
				searched := slices.ContainsFunc(v.Properties, func(p checker.Property) bool {
					return p.Name == verdicts.Linearizability && p.Judged == 1 && p.NotJudged == nil && !strings.Contains(p.Note, "of the others")
				})
				if !searched {
					counts["too long to be searched"]++
					continue
				}
				if fmt.Sprint(parts) == fmt.Sprint(whole) {
					counts["same"]++
					if len(whole) > 0 {
						counts["same, broken"]++
					}
					continue
				}
				counts[fmt.Sprint("parts ", parts, " whole ", whole)]++
				if counts["DIFFER"]++; counts["DIFFER"] <= 2 {
					t.Errorf("seed %d: in parts %v, as a whole %v\n%s", seed, parts, whole, g)
				}
			}
			t.Log(counts)
		})
	}
}
