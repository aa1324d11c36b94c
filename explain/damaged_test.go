package explain_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
)

// TestDamagedRecords: if commands, replies, operations or faults are missing from a record, or commands were sent to other nodes, every violation still
// has a cause, if only unknown, and a story. LOCKBENCH_SOAK is how often each case of the corpus is damaged.
func TestDamagedRecords(t *testing.T) {
	times := 4
	if text := os.Getenv("LOCKBENCH_SOAK"); text != "" {
		var err error
		if times, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for _, s := range corpus(t) {
		for seed := range times {
			rec := damaged(s.recorded(), rand.New(rand.NewPCG(uint64(seed), 1)))
			t.Run(fmt.Sprintf("%s/%d", s.name, seed), func(t *testing.T) {
				v, err := checker.Check(t.Context(), checker.Input{Header: rec.Header, Ops: history.NewSlice(rec.Ops), Commands: rec.Commands, Faults: rec.Faults}, checker.Options{})
				if err != nil {
					t.Skip(err) // the operations that are left contradict each other
				}
				if _, err := sim.Explain(t.Context(), v, rec); err != nil {
					t.Fatal(err)
				}
				for _, x := range v.Violations {
					told++
					if x.Cause == "" || len(x.Story) == 0 {
						t.Errorf("%s at %d: cause %q, story %q", x.Property, x.At, x.Cause, x.Story)
					}
				}
			})
		}
	}
	if told < 200 {
		t.Errorf("%d violations were explained", told)
	}
}

// damaged returns a copy of a record in which each element is missing or changed with a probability that is itself random.
func damaged(rec explain.Record, r *rand.Rand) explain.Record {
	chance := func() func() bool {
		p := []float64{0, 0.1, 0.5, 0.9}[r.IntN(4)]
		return func() bool { return r.Float64() < p }
	}
	lost, unanswered, elsewhere, undone, unrecorded := chance(), chance(), chance(), chance(), chance()
	rec.Commands = slices.DeleteFunc(slices.Clone(rec.Commands), func(history.Command) bool { return lost() })
	for i := range rec.Commands {
		c := &rec.Commands[i]
		if unanswered() {
			c.Reply, c.Replied = "", 0
		}
		if elsewhere() {
			c.Node = r.IntN(3)
		}
	}
	rec.Ops = slices.DeleteFunc(slices.Clone(rec.Ops), func(history.Operation) bool { return undone() })
	rec.Faults = slices.DeleteFunc(slices.Clone(rec.Faults), func(history.Window) bool { return unrecorded() })
	return rec
}
