package results

import "fmt"

// Agreement is what two suites, of which one ran in the simulator and one on real servers, say of the same cells.
type Agreement struct {
	With        string       `json:"with"`  // the other suite's servers and seed
	Cells       int          `json:"cells"` // that came to a verdict in both
	Agree       int          `json:"agree"` // of them: both hold, or both break
	Alike       int          `json:"alike"` // of those that agree: the same properties broke for the same causes
	Differences []Difference `json:"differences"`
}

// Difference is a cell that held in one suite and broke in the other. Both may be as expected: what an expectation leaves to luck may
// come about in one world alone.
type Difference struct {
	Lock     string `json:"lock"`
	Scenario string `json:"scenario"`
	Expected string `json:"expected"`
	First    string `json:"first"` // what was observed
	Second   string `json:"second"`
}

// Agree compares two suites cell by cell; the first is the one that is compared with. Cells that one of them has not got, or that came to no verdict in one, are left out.
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

// held is the Observed of a cell in which nothing broke.
const held = "safe"

func decided(c Cell) bool { return standing(c) > unknown }
