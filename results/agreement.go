package results

import "fmt"

// Agreement compares the same cells of two suites, one in the simulator and one on real servers.
type Agreement struct {
	With        string       `json:"with"`  // the other suite's servers and seed
	Cells       int          `json:"cells"` // cells with a verdict in both
	Agree       int          `json:"agree"` // of Cells: both held, or both broke
	Alike       int          `json:"alike"` // of Agree: the same properties broke for the same causes
	Differences []Difference `json:"differences"`
}

// Difference is a cell that held in one suite and broke in the other. Both may be as expected: an optional break may happen in only one.
type Difference struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Expected string `json:"expected"`
	First    string `json:"first"`  // observed in the first suite
	Second   string `json:"second"` // observed in the second
}

// Agree compares second with first cell by cell. It omits cells that are missing or have no verdict in either.
func Agree(first, second Suite) Agreement {
	a := Agreement{With: fmt.Sprintf("%s, seed %d", first.Server, first.Seed), Differences: []Difference{}}
	others := byPlace(second.Cells)
	for _, c := range first.Cells {
		o, known := others[place(c)]
		if !known || !decided(c) || !decided(o) {
			continue
		}
		a.Cells++
		if c.Observed == o.Observed {
			a.Alike++
		}
		if (c.Observed == held) == (o.Observed == held) {
			a.Agree++
		} else {
			a.Differences = append(a.Differences, Difference{c.Lock, c.Scenario, c.Expected, c.Observed, o.Observed})
		}
	}
	return a
}

// held is Cell.Observed if nothing broke.
const held = "safe"

func decided(c Cell) bool { return standing(c) > unknown }
