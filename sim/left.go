package sim

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/internal/upstream"
)

// The labels of goroutines that clients start.
const (
	labelWorld  = "lockbench-world"
	labelClient = "lockbench-client"
)

// label tells the goroutines of one world from those that an earlier one has left behind.
func (w *world) label() string { return fmt.Sprintf("%p/%d", w, w.program.Seed) }

// leftBehind says which clients' goroutines stay for ever, and where they wait; "" if only those of
// clients that crashed do: their process is gone. said is what synctest said, for goroutines that
// are no client's.
func (w *world) leftBehind(said string) string {
	var out []string
	crashed := false
	for _, c := range w.clients {
		stacks := upstream.Labelled(labelWorld, w.label(), labelClient, c.name)
		switch {
		case len(stacks) == 0:
		case c.crashed:
			crashed = true
		default:
			var names []string
			for _, f := range w.director.Windows() {
				if f.Client == c.name {
					names = append(names, f.Fault)
				}
			}
			its := "no fault was its own"
			if len(names) > 0 {
				its = "its faults: " + strings.Join(names, ", ")
			}
			out = append(out, fmt.Sprintf("%s has closed its lock (%s), and this goes on:\n%s", c.name, its, stacks[0]))
		}
	}
	if len(out) == 0 && !crashed {
		return said
	}
	return strings.Join(out, "\n")
}
