package explain

import (
	"slices"

	"github.com/lockbench/lockbench/history"
)

// This file finds what the refused tries of an acquire did and undid: an experiment leaves it out whole or not at all.

// tryKey is an operation at a node.
type tryKey struct {
	node *node
	op   *history.Operation
}

// tries returns the commands of an acquire at a node, by try, in the order in which they were sent: each begins as the first does.
func (r *run) tries(op *history.Operation, n *node) (all [][]int) {
	begins := r.begins(op, n)
	for _, i := range n.bySending(op) {
		if len(all) == 0 || begins != nil && n.events[i].asks() == begins.asks() {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], i)
	}
	return all
}

// vain returns the tries of an acquire at a node that granted nothing.
func (r *run) vain(op *history.Operation, n *node) [][]int {
	key := tryKey{n, op}
	if all, known := r.inVain[key]; known {
		return all
	}
	all := slices.DeleteFunc(r.tries(op, n), func(try []int) bool {
		return op.Outcome == history.OK && slices.ContainsFunc(r.attempts(op), func(a *attempt) bool {
			return a.node == n && slices.ContainsFunc(a.events, func(i int) bool { return slices.Contains(try, i) })
		})
	})
	if r.inVain != nil {
		r.inVain[key] = all
	}
	return all
}

// whole returns the commands that belong to the i-th event, in order: of a try of an acquire that granted nothing, those that did and undid the same.
func (r *run) whole(n *node, i int) []int {
	e := &n.events[i]
	if e.op == nil || e.op.Op != history.Acquire || len(e.changes) == 0 {
		return []int{i}
	}
	all := []int{i}
	for _, try := range r.vain(e.op, n) {
		if !slices.Contains(try, i) {
			continue
		}
		for _, j := range try {
			if j != i && slices.ContainsFunc(e.changes, func(c change) bool { return slices.ContainsFunc(n.events[j].changes, c.meets) }) {
				all = append(all, j)
			}
		}
	}
	slices.Sort(all)
	return all
}

// withWhole adds to the events that are left out what belongs to them.
func (r *run) withWhole(n *node, events []int) []int {
	all := events
	for _, i := range events {
		for _, j := range r.whole(n, i) {
			if !slices.Contains(all, j) {
				all = append(slices.Clone(all), j)
			}
		}
	}
	return all
}
