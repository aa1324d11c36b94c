package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// setting is a kind of lock and what happens in its random histories.
type setting struct {
	name  string
	head  history.Header
	fence bool
	// If several may hold, or one again, the sweep's test of refusals is necessary, not sufficient: the windowed search, of every window that the
	// sweep leaves open, is part of the verdict, but where an acquire of unknown outcome may explain a refusal.
	lax bool
	// only settings in which the plain model has refusals make them.
	refusals bool
}

var settings = []setting{
	{name: "mutex", head: history.Header{Kind: history.Mutex}, refusals: true},
	{name: "fenced", head: history.Header{Kind: history.Mutex}, fence: true},
	{name: "fenced with refusals", head: history.Header{Kind: history.Mutex}, fence: true, refusals: true},
	{name: "shared and exclusive", head: history.Header{Kind: history.RW}},
	{name: "shared and exclusive with refusals", head: history.Header{Kind: history.RW}, refusals: true, lax: true},
	{name: "permits", head: history.Header{Kind: history.Semaphore, Permits: 2}},
	{name: "permits with refusals", head: history.Header{Kind: history.Semaphore, Permits: 2}, refusals: true, lax: true},
	{name: "re-entrant", head: history.Header{Kind: history.Reentrant}},
	{name: "re-entrant with refusals", head: history.Header{Kind: history.Reentrant}, refusals: true, lax: true},
}

// TestSweepAgreesWithPorcupine compares the verdict with Porcupine's on a textbook model, on random small histories: legal and
// illegal, with unknown acquires and releases, refusals and equal instants. The verdict is the sweep's where that is exact, and the
// sweep's and the windowed search's together elsewhere; the search is compared by itself as well, on every fifth history.
// LOCKBENCH_SOAK=1 compares a million of each kind.
func TestSweepAgreesWithPorcupine(t *testing.T) {
	n := 20_000
	if raceDetector {
		n = 2_000
	}
	if os.Getenv("LOCKBENCH_SOAK") != "" {
		n = 1_000_000
	}
	for i, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			base := uint64(i) << 40
			t.Logf("seeds %d to %d", base, base+uint64(n)-1)
			c := comparison{setting: s}
			c.many(t, base, n)
			legal := int(c.legal.Load())
			t.Logf("%d histories: %d legal, %d illegal; %d illegal ones are seen only by the search in windows", n, legal, n-legal, c.searched.Load())
			if legal == 0 || legal == n {
				t.Error("the histories are all of one sort")
			}
			if s.lax && s.head.Kind != history.Reentrant && c.searched.Load() == 0 { // that needs an acquire of unknown outcome
				t.Error("the search is not tested by these histories")
			}
		})
	}
}

// comparison counts the results for random histories.
type comparison struct {
	setting
	legal    atomic.Int64
	searched atomic.Int64 // illegal, and only the windowed search finds it
}

func (c *comparison) many(t *testing.T, base uint64, n int) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !t.Failed(); i = next.Add(1) - 1 {
				c.one(t, base+uint64(i), c.lax || i%5 == 0)
			}
		})
	}
	workers.Wait()
}

func (c *comparison) one(t *testing.T, seed uint64, search bool) {
	ops := randomHistory(c.setting, seed)
	want := plainSearch(c.head, ops, clientNumbers)
	got := c.sweepAndSearch(t.Context(), ops, search)
	unknown := slices.ContainsFunc(ops, func(op history.Operation) bool { return op.Op == history.Acquire && op.Outcome == history.Unknown })
	switch {
	case want:
		c.legal.Add(1)
	case got.legal && !got.ordered:
		c.searched.Add(1)
	}
	all := got.legal && (got.ordered || !c.lax)
	if all != want && (want || !c.lax || !unknown) || search && got.ordered != want && (want || !unknown) {
		t.Errorf("seed %d: Porcupine says legal=%v, the sweep says %v%s, the windowed search %v\n%s", seed, want, got.legal, got.found, got.ordered, draw(ops))
	}
}

// opinion is what is said of a history.
type opinion struct {
	legal   bool   // the sweep finds no violation of order
	ordered bool   // the windowed search finds an order
	found   string // the properties that the sweep found broken
}

func (s setting) sweepAndSearch(ctx context.Context, ops []history.Operation, search bool) opinion {
	h := s.head
	h.Permits = max(h.Permits, 1)
	in := Input{Header: h, Ops: history.NewSlice(ops)}
	a, err := load(ctx, in)
	if err != nil {
		return opinion{found: " " + err.Error()}
	}
	out := opinion{legal: true, ordered: true}
	for _, k := range a.keys {
		ev := newEvidence(in, a)
		if err := a.findHolds(k, ev); err != nil {
			return opinion{found: " " + err.Error()}
		}
		d := &keyInput{a: a, k: k, ev: ev, opt: Options{MaxViolations: 1}.withDefaults()}
		refused := newRefusal(d)
		judges := []judge{newMutualExclusion(d), newFencingOrder(d), refused, newReentrancy(d)}
		searcher := newLinearizability(d, refused)
		if search {
			judges = append(judges, searcher)
		}
		d.try(judges)
		out.ordered = searcher.violations == 0
		for _, j := range judges {
			if r := j.result(); r.violations > 0 && r != &searcher.tally {
				out.legal, out.found = false, out.found+" "+string(r.property)
			}
		}
	}
	return out
}

var clientNumbers = map[string]int{"a": 0, "b": 1, "c": 2, "d": 3}

// randomHistory draws a small history of up to four clients: what a real lock did, every operation with a point at which it took effect
// within its interval. Most are then changed at up to three places, which makes some illegal.
func randomHistory(s setting, seed uint64) []history.Operation {
	g := &generator{setting: s, rand: rand.New(rand.NewPCG(seed, 1)), lock: plainState{}}
	g.width, g.unsure = 1+g.rand.Int64N(12), g.rand.IntN(2) == 0
	clients := 2 + g.rand.IntN(maxPlainClients-1)
	for range 4 + g.rand.IntN(16) {
		g.now += g.rand.Int64N(4)
		g.step(g.rand.IntN(clients))
	}
	for range g.rand.IntN(4) {
		if len(g.ops) > 0 {
			g.spoil(g.rand.IntN(len(g.ops)))
		}
	}
	return g.ops
}

type generator struct {
	setting
	rand   *rand.Rand
	width  int64
	now    int64
	unsure bool // some acquires have an unknown outcome
	lock   plainState
	idle   [maxPlainClients]int64 // when each client's last operation returned
	depth  [maxPlainClients]int   // grants that the client knows of and has not released
	mode   [maxPlainClients]history.Mode
	dead   [maxPlainClients]bool
	ops    []history.Operation
}

// step lets a client do something that takes effect now, unless its last operation is still under way.
func (g *generator) step(client int) {
	if g.idle[client] > g.now || g.dead[client] {
		return
	}
	op := history.Operation{ID: uint64(len(g.ops)) + 1, Client: string(rune('a' + client)), Key: "k"}
	op.Call = g.now - g.rand.Int64N(1+min(g.width, g.now-g.idle[client]))
	op.Return = g.now + g.rand.Int64N(g.width)
	again := g.head.Kind == history.Reentrant && g.depth[client] < 3 && g.rand.IntN(3) == 0
	if g.depth[client] == 0 || again {
		if !g.acquire(client, &op) {
			return
		}
	} else {
		g.release(client, &op)
	}
	g.idle[client] = op.Return + 1 // Porcupine would not know the order of a client's own operations at one instant
	g.ops = append(g.ops, op)
}

// acquire reports whether there is something to record: without refusals the lock waits.
func (g *generator) acquire(client int, op *history.Operation) bool {
	op.Op = history.Acquire
	if g.depth[client] == 0 {
		g.mode[client] = history.Exclusive
		if g.head.Kind == history.RW && g.rand.IntN(2) == 0 {
			g.mode[client] = history.Shared
		}
	}
	op.Mode = g.mode[client]
	in := plainInput{op: history.Acquire, client: client, shared: op.Mode == history.Shared}
	next, ok := plainAcquire(g.head, g.lock, in)
	if g.unsure && g.rand.IntN(8) == 0 && g.depth[client] == 0 {
		op.Outcome = history.Unknown
		if ok && g.rand.IntN(2) == 0 {
			g.lock, g.dead[client] = next, true
		}
		return true
	}
	if !ok {
		op.Outcome = history.Busy
		return g.refusals
	}
	op.Outcome = history.OK
	g.lock = next
	if g.fence {
		g.lock.fence++
		op.Fence = g.lock.fence
	}
	g.depth[client]++
	return true
}

func (g *generator) release(client int, op *history.Operation) {
	op.Op, op.Outcome, op.Mode = history.Release, history.OK, g.mode[client]
	g.depth[client]--
	in := plainInput{op: history.Release, client: client, shared: op.Mode == history.Shared}
	unknown := g.rand.IntN(8) == 0
	if !unknown || g.rand.IntN(2) == 0 {
		_, next := plainRelease(g.lock, in)
		g.lock = next.(plainState)
	}
	if unknown {
		op.Outcome = history.Unknown
		g.dead[client] = g.head.Kind == history.Reentrant || g.head.Kind == history.Semaphore // the model's count no longer equals the client's
	}
}

// spoil changes one operation so that the history stays well formed but may be illegal.
func (g *generator) spoil(i int) {
	op := &g.ops[i]
	switch g.rand.IntN(4) {
	case 0:
		op.Return = op.Call
	case 1:
		op.Call = op.Return
	case 2:
		op.Fence += min(op.Fence, g.rand.Uint64N(3))
	default:
		g.spoilOutcome(i)
	}
}

// spoilOutcome makes a refusal or an unknown acquire a grant that is never released, and a release one that never was.
func (g *generator) spoilOutcome(i int) {
	op := g.ops[i]
	after := func(o history.Operation) bool { return o.Client == op.Client && o.Call > op.Call }
	switch {
	case op.Op == history.Acquire && op.Outcome != history.OK:
		g.ops[i].Outcome = history.OK
		g.ops = slices.DeleteFunc(g.ops, after)
	case op.Op == history.Release:
		g.ops = slices.DeleteFunc(g.ops, func(o history.Operation) bool { return after(o) || o == op })
	}
}

// draw shows a history, for messages.
func draw(ops []history.Operation) (text string) {
	for _, op := range ops {
		text += fmt.Sprintf("%s %s %d %d %s %s fence=%d\n", op.Client, op.Op, op.Call, op.Return, op.Outcome, op.Mode, op.Fence)
	}
	return text
}
