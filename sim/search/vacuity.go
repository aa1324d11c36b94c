package search

import (
	"slices"

	"github.com/lockbench/lockbench/history"

	"github.com/lockbench/lockbench/sim"
)

// A search shows nothing about what it never reached: a fault that struck nothing, an answer that
// no client got, a hold that never ended by itself.

// Moments of a schedule, beside its faults.
const (
	momentWait     = "a wait"
	momentRefusal  = "a refused acquire"
	momentHandOver = "a hand-over to another client"
	momentExpiry   = "a hold beyond its lease"
	momentRefused  = "a refused release"
	momentUnknown  = "a call without an answer"
	momentExtend   = "an extend or a renewal"
	momentLoss     = "a notice of a loss"
	momentReader   = "readers at once"
)

// reachable lists what a search of a program within bounds could reach.
func reachable(p sim.Program, b sim.Bounds) []string {
	t := p.Variant.Traits
	all := slices.Concat(b.Faults, []string{momentHandOver, momentRefused})
	if p.Config.AcquireWait > 0 {
		all = append(all, momentWait)
	} else {
		all = append(all, momentRefusal)
	}
	if b.MaxFaults > 0 {
		all = append(all, momentUnknown)
	}
	if !t.NoLease && p.Config.Lease > 0 {
		all = append(all, momentExpiry)
	}
	if t.Extends || t.SelfRenewing {
		all = append(all, momentExtend)
	}
	if t.NotifiesLoss {
		all = append(all, momentLoss)
	}
	if p.Variant.Kind == history.RW {
		all = append(all, momentReader)
	}
	return all
}

// neverReached lists what no schedule of a search reached.
func neverReached(p sim.Program, b sim.Bounds, reached map[string]int) (never []string) {
	for _, what := range reachable(p, b) {
		if reached[what] == 0 {
			never = append(never, what)
		}
	}
	return never
}

// reached returns what a schedule reached.
func reached(o sim.Outcome) map[string]bool {
	all := map[string]bool{}
	for _, w := range o.Windows {
		if w.Confirmed {
			all[w.Fault] = true
		}
	}
	lease, last := int64(o.Program.Config.Lease), map[string]history.Operation{} // by key: the last hold
	reading := map[string]bool{}
	for _, op := range o.Ops {
		all[momentUnknown] = all[momentUnknown] || op.Outcome == history.Unknown
		switch op.Op {
		case history.Acquire:
			all[momentRefusal] = all[momentRefusal] || op.Outcome == history.Busy
			all[momentWait] = all[momentWait] || op.Outcome == history.OK && op.Return-op.Call > int64(o.Program.Poll)/2
			if before := last[op.Key]; op.Outcome == history.OK {
				all[momentHandOver] = all[momentHandOver] || before.Client != "" && before.Client != op.Client
				last[op.Key] = op
			}
		case history.Use:
			all[momentExpiry] = all[momentExpiry] || lease > 0 && op.Return-op.Call > lease
			reading[op.Client] = reading[op.Client] || op.Mode == history.Shared
		case history.Release:
			all[momentRefused] = all[momentRefused] || op.Outcome == history.NotHeld
		case history.Extend:
			all[momentExtend] = true
		case history.Lost:
			all[momentLoss] = true
		}
	}
	for _, c := range o.Commands {
		all[momentExtend] = all[momentExtend] || c.Op == 0 && c.Node != sim.StoreNode // a watchdog's, outside any operation
	}
	all[momentReader] = len(reading) > 1
	for what, did := range all {
		if !did {
			delete(all, what)
		}
	}
	return all
}
