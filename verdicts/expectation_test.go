package verdicts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExpectationsAreReadBack(t *testing.T) {
	for _, e := range []Expectation{Safe(), Breaks("release-safety", "progress/orphan"), Safe().Or("renewal/unknown"), Breaks("refusal/orphan").Or("progress/orphan", "fairness"),
		NotApplicable("sends no script")} {
		if diff := cmp.Diff(e.String(), ParseExpectation(e.String()).String()); diff != "" {
			t.Error(diff)
		}
		if got := ParseExpectation(e.String()); len(got.Breaks) != len(e.Breaks) || len(got.May) != len(e.May) {
			t.Errorf("%v: read as %v", e, got)
		}
	}
}
