package checker_test

import (
	"math/rand/v2"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// unlikelyHistory draws a record that no server explains, most of the time: operations with any outcome, at instants that often coincide. Where a
// definition has two readings, such records tell them apart sooner than those of a server that is nearly right.
func unlikelyHistory(kind history.Kind, seed uint64) *pageGenerator {
	r := rand.New(rand.NewPCG(seed, 99))
	g := &pageGenerator{Rand: r, h: history.Header{Kind: kind, Permits: 1}, idle: map[string]int64{}}
	if g.h.Lease = oneOf[int64](r, 0, 1, 3, 5, 5); g.h.Lease > 0 {
		g.h.Drift = oneOf[int64](r, 0, 0, 0, 1)
	}
	g.h.ClockError = oneOf[int64](r, 0, 0, 0, 1)
	if kind == history.Semaphore {
		g.h.Permits = 1 + r.IntN(2)
	}
	g.h.Votes, g.h.FIFO = r.IntN(15) == 0, r.IntN(15) == 0
	g.clients, g.tokens, g.fences, g.modes = 1+r.IntN(3), r.IntN(3), r.IntN(3) == 0, r.IntN(2) == 0
	for range 3 + r.IntN(5) {
		g.ops = append(g.ops, g.unlikely())
	}
	if r.IntN(5) == 0 {
		g.faults = append(g.faults, g.unlikelyFault())
	}
	return g
}

func (g *pageGenerator) unlikely() history.Operation {
	op := history.Operation{ID: uint64(len(g.ops)) + 1, Key: "k", Client: string(rune('a' + g.IntN(g.clients)))}
	op.Call = g.idle[op.Client] + g.Int64N(5)
	op.Return = op.Call + g.Int64N(4)
	op.Op = oneOf(g.Rand, history.Acquire, history.Acquire, history.Acquire, history.Release, history.Extend, history.Extend, history.Lost, history.Write, history.Use)
	switch op.Op {
	case history.Acquire:
		op.Outcome = oneOf(g.Rand, history.OK, history.OK, history.OK, history.Busy, history.Unknown, history.Fail)
	case history.Release, history.Extend:
		op.Outcome = oneOf(g.Rand, history.OK, history.OK, history.NotHeld, history.LostHold, history.Unknown, history.Fail)
	case history.Write:
		op.Outcome = oneOf(g.Rand, history.OK, history.OK, history.Unknown, history.Rejected)
		op.HasValue, op.Read = true, g.value-oneOf[int64](g.Rand, 0, 0, 0, 0, 0, 1)
		op.Wrote = op.Read + 1
		g.value++
	case history.Lost:
		op.Return = op.Call
	}
	g.unlikelyDetails(&op)
	if op.Op == history.Acquire || op.Op == history.Release || op.Op == history.Write {
		g.idle[op.Client] = op.Return
	}
	return op
}

// unlikelyDetails adds what an operation says besides its outcome.
func (g *pageGenerator) unlikelyDetails(op *history.Operation) {
	ok := op.Outcome == history.OK
	if ok && (op.Op == history.Acquire || op.Op == history.Extend) && g.IntN(3) == 0 {
		op.ValidUntil = op.Return + g.Int64N(6) - 1
	}
	if ok && op.Op == history.Acquire && g.IntN(4) == 0 {
		op.Asked = op.Call + g.Int64N(op.Return-op.Call+1)
	}
	if ok && g.fences && (op.Op == history.Acquire || op.Op == history.Write) {
		op.Fence = g.Uint64N(4)
	}
	if g.h.Kind == history.RW && (op.Op == history.Acquire || g.IntN(2) == 0) {
		if g.IntN(2) == 0 {
			op.Mode = history.Shared
		}
		op.ModeNamed = g.modes || op.Mode == history.Shared
	}
	if g.tokens > 0 && op.Op != history.Write && op.Op != history.Use && g.IntN(4) > 0 {
		if op.Token = op.Client; g.tokens == 2 {
			op.Token += strconv.Itoa(g.IntN(2))
		}
	}
}

func (g *pageGenerator) unlikelyFault() history.Window {
	w := history.Window{Fault: oneOf(g.Rand, "kill-server", "partition-nodes", "jump-clock", "pause-client", "crash-client"), Start: g.Int64N(8), Confirmed: g.IntN(3) > 0}
	w.End = w.Start + g.Int64N(6)
	switch w.Fault {
	case "jump-clock":
		w.Effects = []history.Effect{{At: w.Start, What: history.ClockSet, By: oneOf[int64](g.Rand, -2, -1, 1, 2, 4)}}
	case "pause-client", "crash-client":
		w.Client, w.Node = "a", -1
	}
	return w
}

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
