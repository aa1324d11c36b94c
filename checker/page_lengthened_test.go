package checker_test

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
)

// TestLongRecordsAreJudgedAsShortOnes adds to records that are searched as a whole a client that holds nothing, whose refused extends make them too long
// for that. What breaks in the one should break in the other: what is searched piece by piece may miss one of a hundred, and may name a property where two
// things are wrong that the short record leaves to linearizability.
func TestLongRecordsAreJudgedAsShortOnes(t *testing.T) {
	for k, kind := range []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			broken, missed, invented := 0, 0, 0
			for i := range uint64(soak(1000)) {
				in, ops := pageHistory(kind, uint64(k)<<40+i).inNanoseconds()
				in.Ops = history.NewSlice(ops)
				short, err := checker.Check(t.Context(), in, checker.Options{Bare: true})
				if err != nil || len(ops) == 0 {
					continue
				}
				in.Ops = history.NewSlice(checker.Lengthened(ops))
				long, err := checker.Check(t.Context(), in, checker.Options{Bare: true})
				if err != nil {
					t.Fatal(err)
				}
				for j, p := range short.Properties {
					switch was, is := p.Verdict == checker.Fail, long.Properties[j].Verdict == checker.Fail; {
					case was && is:
						broken++
					case was:
						missed++
					case is:
						invented++
					}
				}
			}
			t.Logf("%d broken in both, %d only in the short record, %d only in the long one", broken, missed, invented)
			if broken < 100 || missed > broken/100 || invented > broken/100 {
				t.Error("too many differ")
			}
		})
	}
}
