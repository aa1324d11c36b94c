package faults

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/history"
)

// action applies a fault to a world and returns once it is in force; an error says why that is not
// confirmed. A fault in force despite it has an undo; one with nothing to undo has none.
type action func(ctx context.Context, at actionAt) (Undo, error)

type actionAt struct {
	World
	director *Director
	fault    *Fault
}

// note records what was measured.
func (at actionAt) note(format string, args ...any) {
	at.director.mu.Lock()
	defer at.director.mu.Unlock()
	at.fault.window.Note = fmt.Sprintf(format, args...)
}

// did records the effects of the fault on a node. Those that don't say when they happened did so
// now.
func (at actionAt) did(node int, effects ...history.Effect) {
	d := at.director
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range effects {
		if e.What != "" { // else no effect was observed
			e.Node, e.At = d.cfg.Topology.Address(node), cmp.Or(e.At, at.Now())
			at.fault.window.Effects = append(at.fault.window.Effects, e)
		}
	}
}

func (at actionAt) by() time.Duration { return at.fault.By.Of(at.director.cfg.Lease) }

// one returns the node that the fault affects, from 0.
func (at actionAt) one() int { return max(at.fault.Node, 1) - 1 }

// nodes returns the nodes that the fault affects: the one that it names, or all.
func (at actionAt) nodes() []int {
	if at.fault.Node > 0 {
		return []int{at.fault.Node - 1}
	}
	all := make([]int, at.Nodes())
	for i := range all {
		all[i] = i
	}
	return all
}
