package effects

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// attribute gives what nodes copied from their primary its client and its time: those of the next
// event of another node that a client's command made and that did the same, since nodes copy in
// order. Events are in the order of their times.
func attribute(all []history.Executed) {
	made := map[string][]int{} // what clients' commands did
	for i := range all {
		if all[i].Client != "" {
			made[did(&all[i])] = append(made[did(&all[i])], i)
		}
	}
	// by node: after the event that it copied last, and the time of its last event
	next, now := map[int]int{}, map[int]int64{}
	for i := range all {
		e := &all[i]
		if e.Client == "" && e.Effect == "" && len(e.Changes) > 0 {
			for _, j := range made[did(e)] {
				if of := &all[j]; of.Node != e.Node && j >= next[e.Node] && of.At <= e.At+4*apart {
					next[e.Node] = j + 1
					e.At, e.Client, e.Op, e.Name, e.Script, e.Args, e.Reply, e.Copied = of.At, of.Client, of.Op, of.Name, of.Script, of.Args, of.Reply, true
					break
				}
			}
		}
		e.At = max(e.At, now[e.Node])
		now[e.Node] = e.At
	}
	slices.SortStableFunc(all, func(a, b history.Executed) int { return cmp.Compare(a.At, b.At) })
}

// did returns what an event did to the data, as text.
func did(e *history.Executed) (text string) {
	for _, c := range e.Changes {
		text += fmt.Sprintf("%q", c.Key)
		for _, d := range []*history.Datum{c.Before, c.After} {
			if text += "|"; d != nil {
				text += fmt.Sprint(d.Value)
			}
		}
	}
	return text
}
