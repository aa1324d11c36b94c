package checker_test

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// pageGenerator simulates a correct server, in milliseconds, and records what its clients see; then it changes a few things.
type pageGenerator struct {
	*rand.Rand
	h       history.Header
	clients int
	tokens  int  // of ten grants, how many have one
	named   bool // every operation has the token of its hold
	fences  bool
	modes   bool // operations state their mode
	told    int  // valid-until: never, as it is, too long
	width   int64
	now     int64
	fence   uint64
	value   int64
	idle    map[string]int64
	mine    map[string][]int // grants that a client has not released
	holds   []kept
	ops     []history.Operation
	faults  []history.Window
}

func newPageGenerator(kind history.Kind, seed uint64) *pageGenerator {
	r := rand.New(rand.NewPCG(seed, 77))
	g := &pageGenerator{Rand: r, h: history.Header{Kind: kind, Permits: 1}, idle: map[string]int64{}, mine: map[string][]int{}}
	g.h.Lease = []int64{0, 1, 3, 5, 20, 20, 100, 2000, 60000}[r.IntN(9)]
	if g.h.Lease > 0 {
		g.h.Drift = []int64{0, 0, 1, g.h.Lease / 50}[r.IntN(4)]
	}
	g.h.ClockError = []int64{0, 0, 0, 0, 1, 2}[r.IntN(6)]
	if kind == history.Semaphore {
		g.h.Permits = 1 + r.IntN(3)
	}
	g.h.Votes, g.h.FIFO = r.IntN(12) == 0, r.IntN(12) == 0
	g.clients, g.tokens, g.fences, g.modes, g.told = 2+r.IntN(3), []int{0, 10, 10, 7}[r.IntN(4)], r.IntN(2) == 0, r.IntN(2) == 0, r.IntN(4)
	g.width = 1 + r.Int64N(6)
	if g.h.ClockError > 0 {
		g.clients = min(g.clients, 3)
	}
	return g
}

// pageHistory draws a history.
func pageHistory(kind history.Kind, seed uint64) *pageGenerator {
	g := newPageGenerator(kind, seed)
	for range 3 + g.IntN(6) {
		g.now += g.pause()
		g.step()
	}
	for range []int{0, 1, 1, 2}[g.IntN(4)] {
		if len(g.ops) > 0 {
			g.spoil(&g.ops[g.IntN(len(g.ops))])
		}
	}
	g.aside()
	g.Shuffle(len(g.ops), func(i, j int) { g.ops[i], g.ops[j] = g.ops[j], g.ops[i] })
	return g
}

// pause is the time between two effects: mostly short, sometimes about a lease.
func (g *pageGenerator) pause() int64 {
	if g.h.Lease > 5 && g.IntN(5) == 0 {
		return []int64{g.h.Lease / 2, g.h.Lease - 1, g.h.Lease, g.h.Lease + 1, g.h.Lease + g.h.Drift + 2}[g.IntN(5)]
	}
	return g.Int64N(4)
}

func (g *pageGenerator) step() {
	op := history.Operation{ID: uint64(len(g.ops)) + 1, Client: string(rune('a' + g.IntN(g.clients))), Key: "k"}
	if g.idle[op.Client] > g.now {
		return
	}
	op.Call, op.Return = max(g.idle[op.Client], g.now-g.Int64N(g.width)), g.now+g.Int64N(g.width)
	if g.h.Lease > 0 && g.IntN(10) == 0 { // a call as long as a lease
		op.Call = max(g.idle[op.Client], g.now-g.h.Lease)
	}
	g.holds = slices.DeleteFunc(g.holds, func(k kept) bool { return g.h.Lease > 0 && k.last+g.h.Lease <= g.now })
	mine := g.mine[op.Client]
	switch {
	case len(mine) == 0 && g.IntN(12) == 0:
		g.write(&op)
	case len(mine) == 0 || g.IntN(4) == 0 && g.h.Kind == history.Reentrant || g.IntN(8) == 0:
		g.acquire(&op)
	case g.IntN(4) == 0:
		g.write(&op)
	case g.IntN(3) == 0:
		g.extend(&op, mine)
	default:
		g.release(&op, mine)
	}
	g.idle[op.Client] = op.Return + g.Int64N(2)
	g.ops = append(g.ops, op)
}

func (g *pageGenerator) write(op *history.Operation) {
	op.Op, op.Outcome, op.HasValue = history.Write, history.OK, true
	op.Read, op.Wrote = g.value, g.value+1
	if mine := g.mine[op.Client]; len(mine) > 0 {
		op.Fence = g.ops[mine[len(mine)-1]].Fence
	}
	switch g.IntN(10) {
	case 0:
		op.Outcome = history.Rejected
		return
	case 1:
		if op.Outcome = history.Unknown; g.IntN(2) == 0 {
			return
		}
	}
	g.value++
}

func (g *pageGenerator) acquire(op *history.Operation) {
	op.Op = history.Acquire
	if g.h.Kind == history.RW && g.IntN(2) == 0 {
		op.Mode = history.Shared
	}
	taken := 0
	for _, k := range g.holds {
		a := g.ops[k.by]
		same, shared := a.Client == op.Client, op.Mode == history.Shared && a.Mode == history.Shared
		if !shared && !(same && g.h.Kind == history.Reentrant) {
			taken++
		}
	}
	switch {
	case g.IntN(8) == 0:
		op.Outcome = history.Unknown
		if taken < g.h.Permits && g.IntN(2) == 0 {
			g.holds = append(g.holds, kept{by: len(g.ops), last: g.now})
		}
		return
	case taken >= g.h.Permits:
		op.Outcome = []history.Outcome{history.Busy, history.Busy, history.Busy, history.Fail}[g.IntN(4)]
		return
	}
	op.Outcome = history.OK
	if g.IntN(10) < g.tokens {
		if op.Token = "t" + strconv.Itoa(len(g.ops)); g.h.Kind == history.Reentrant {
			op.Token = "t" + op.Client
		}
	}
	if g.IntN(3) == 0 && g.now > 0 {
		op.Asked = max(op.Call, 1) + g.Int64N(g.now-min(max(op.Call, 1), g.now)+1)
		op.Asked = min(op.Asked, op.Return)
	}
	if g.fence++; g.fences && op.Mode == history.Exclusive {
		op.Fence = g.fence
	}
	if g.h.Kind == history.Reentrant {
		g.renew(op.Client)
	}
	g.tell(op)
	g.mine[op.Client] = append(g.mine[op.Client], len(g.ops))
	g.holds = append(g.holds, kept{by: len(g.ops), last: g.now})
}

// tell fills in valid-until.
func (g *pageGenerator) tell(op *history.Operation) {
	if g.h.Lease == 0 {
		return
	}
	switch g.told {
	case 1:
		op.ValidUntil = max(op.Call, op.Asked) + g.h.Lease - g.h.Drift
	case 2:
		op.ValidUntil = op.Return + g.h.Lease
	}
}

func (g *pageGenerator) renew(client string) {
	for n := range g.holds {
		if g.ops[g.holds[n].by].Client == client {
			g.holds[n].last = g.now
		}
	}
}

// about makes an operation refer to a grant, mostly the last, and returns where that is in force.
func (g *pageGenerator) about(op *history.Operation, mine []int) (grant, at int) {
	grant = mine[len(mine)-1]
	if g.IntN(4) == 0 {
		grant = mine[g.IntN(len(mine))]
	}
	if op.Token = g.ops[grant].Token; g.IntN(8) == 0 && !g.named {
		op.Token = ""
	}
	if g.modes {
		op.Mode, op.ModeNamed = g.ops[grant].Mode, true
	}
	return grant, slices.IndexFunc(g.holds, func(k kept) bool { return k.by == grant })
}

func (g *pageGenerator) extend(op *history.Operation, mine []int) {
	op.Op, op.Outcome = history.Extend, history.OK
	_, at := g.about(op, mine)
	switch {
	case at < 0:
		op.Outcome = history.LostHold
	case g.h.Kind == history.Reentrant:
		g.renew(op.Client)
	default:
		g.holds[at].last = g.now
	}
	if g.IntN(8) == 0 {
		op.Outcome = history.Unknown
	} else if op.Outcome == history.OK {
		g.tell(op)
		if g.IntN(8) == 0 {
			op.Asked = op.Call + 50 // means nothing of an extend
		}
	}
}

func (g *pageGenerator) release(op *history.Operation, mine []int) {
	op.Op, op.Outcome = history.Release, history.OK
	grant, at := g.about(op, mine)
	if at < 0 && g.IntN(2) == 0 {
		op.Outcome = history.NotHeld
	}
	unknown := g.IntN(8) == 0
	if unknown {
		op.Outcome = history.Unknown
	}
	if at >= 0 && (!unknown || g.IntN(2) == 0) {
		g.holds = slices.Delete(g.holds, at, at+1)
		if g.h.Kind == history.Reentrant {
			g.renew(op.Client)
		}
	}
	if !unknown || g.h.Kind == history.Reentrant {
		g.mine[op.Client] = slices.DeleteFunc(slices.Clone(mine), func(n int) bool { return n == grant })
	}
}

// spoil changes an operation so that the record stays well formed.
func (g *pageGenerator) spoil(op *history.Operation) {
	acquire := op.Op == history.Acquire
	switch g.IntN(8) {
	case 0:
		op.Return = max(op.Call, op.Asked)
	case 1:
		op.Call, op.Asked = op.Return, 0
	case 2:
		op.Fence += min(op.Fence, uint64(g.IntN(3)))
	case 3:
		if acquire && op.Outcome != history.OK {
			op.Outcome = []history.Outcome{history.Busy, history.OK}[g.IntN(2)]
		} else if op.Op == history.Release || op.Op == history.Extend {
			op.Outcome, op.ValidUntil, op.Asked = []history.Outcome{history.OK, history.NotHeld, history.Unknown}[g.IntN(3)], 0, 0
		}
	case 4:
		if !acquire || g.h.Kind != history.Reentrant {
			op.Token = ""
		}
	case 5:
		if op.ValidUntil != 0 {
			op.ValidUntil += g.Int64N(5) - 2
		}
	case 6:
		op.HasValue = op.HasValue && g.IntN(4) > 0
		op.Read, op.Wrote = op.Read+g.Int64N(2), op.Wrote+g.Int64N(2)
	default:
		if acquire {
			op.Outcome, op.Token, op.Fence, op.Asked, op.ValidUntil = history.Busy, "", 0, 0, 0
		}
	}
}

// aside adds what may overlap the rest: critical sections, notices of a loss, faults.
func (g *pageGenerator) aside() {
	last := g.now + 3
	for i := range g.ops {
		a := g.ops[i]
		if a.Op != history.Acquire || a.Outcome != history.OK || g.IntN(3) > 0 {
			continue
		}
		use := history.Operation{ID: 100 + uint64(i), Client: a.Client, Key: "k", Op: history.Use, Call: a.Return + g.Int64N(2), Token: a.Token}
		use.Return = use.Call + g.Int64N(6)
		if g.IntN(3) == 0 {
			use.Token = ""
		}
		if g.modes {
			use.Mode, use.ModeNamed = a.Mode, true
		}
		g.ops = append(g.ops, use)
		if g.IntN(6) == 0 && g.h.Kind != history.Reentrant {
			at := a.Return + g.Int64N(10)
			g.ops = append(g.ops, history.Operation{ID: 200 + uint64(i), Client: a.Client, Key: "k", Op: history.Lost, Call: at, Return: at, Token: a.Token})
		}
	}
	g.strays(last)
	g.serverFault(last)
	if g.IntN(6) == 0 {
		at := g.Int64N(last)
		g.faults = append(g.faults, history.Window{Fault: "crash-client", Client: string(rune('a' + g.IntN(5))), Node: -1, Start: at, Confirmed: g.IntN(2) == 0})
	}
	if g.IntN(6) == 0 {
		at := g.Int64N(last)
		g.faults = append(g.faults, history.Window{Fault: []string{"pause-client", "slow-work", "lose-reply"}[g.IntN(3)], Client: []string{"a", "b", "c", "d", "nobody"}[g.IntN(5)], Node: -1, Start: at, End: at + 1 + g.Int64N(20), Confirmed: g.IntN(2) == 0})
	}
}

// strays adds what no correct client does: critical sections outside any hold, a watchdog's extends that overlap everything, an endless wait.
func (g *pageGenerator) strays(last int64) {
	client := func() string { return string(rune('a' + g.IntN(g.clients))) }
	if g.IntN(6) == 0 {
		use := history.Operation{ID: 300, Client: client(), Key: "k", Op: history.Use, Call: g.Int64N(last), Mode: history.Mode(g.IntN(2)), ModeNamed: true}
		use.Return = use.Call + g.Int64N(8)
		if g.IntN(2) == 0 {
			use.Mode, use.ModeNamed = history.Exclusive, false
		}
		g.ops = append(g.ops, use)
	}
	if g.IntN(5) == 0 && len(g.ops) > 0 {
		a := g.ops[g.IntN(len(g.ops))]
		at := a.Return + g.Int64N(8)
		extend := history.Operation{ID: 400, Client: a.Client, Key: "k", Op: history.Extend, Call: at, Return: at + g.Int64N(6), Token: a.Token,
			Outcome: []history.Outcome{history.OK, history.OK, history.LostHold, history.Unknown, history.Fail}[g.IntN(5)]}
		g.ops = append(g.ops, extend)
	}
	if g.IntN(5) == 0 { // of a client without other operations
		wait := history.Operation{ID: 500, Client: "w", Key: "k", Op: history.Acquire, Call: g.Int64N(last),
			Outcome: []history.Outcome{history.OK, history.Busy, history.Fail, history.Unknown}[g.IntN(4)]}
		wait.Return = wait.Call + []int64{1, g.h.Lease, 999, 1001 + 2*g.h.Lease}[g.IntN(4)]
		g.ops = append(g.ops, wait)
	}
}

// serverFault adds a fault of a server, with an effect on its data or clock that its kind may have.
func (g *pageGenerator) serverFault(last int64) {
	if g.IntN(5) > 0 {
		return
	}
	at := g.Int64N(last)
	w := history.Window{Fault: serverFaults[g.IntN(len(serverFaults))], Start: at, End: at + 1 + g.Int64N(20), Confirmed: g.IntN(3) > 0}
	switch w.Fault {
	case "failover":
		w.Replica = []string{"", history.HadKey, history.LackedKey}[g.IntN(3)]
	case "jump-clock":
		by := []int64{-g.h.Lease, -3, 2, g.h.Lease}[g.IntN(4)]
		w.Effects = []history.Effect{{At: at + 1, What: history.ClockSet, By: by}}
	}
	g.faults = append(g.faults, w)
}
