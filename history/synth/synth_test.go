package synth_test

import (
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history/synth"
	"github.com/lockbench/lockbench/verdicts"
)

// TestGeneratedViolations: the checker finds exactly the generated violations.
func TestGeneratedViolations(t *testing.T) {
	for _, c := range []synth.Config{
		{Ops: 20_000}, {Ops: 20_000, Refusals: true}, {Ops: 20_000, Illegal: true}, {Ops: 20_000, Refusals: true, Illegal: true},
		{Ops: 5000, Clients: 3, Refusals: true, Illegal: true},
	} {
		src := synth.New(c)
		v, err := checker.Check(t.Context(), checker.Input{Header: src.Header(), Ops: src}, checker.Options{})
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		for _, p := range v.Properties {
			want := 0
			if p.Name == verdicts.MutualExclusion {
				want = src.Violations()
			}
			if p.Name != verdicts.Linearizability && p.Violations != want {
				t.Errorf("%+v: %s: %d violations, want %d", c, p.Name, p.Violations, want)
			}
			if p.Name == verdicts.Linearizability && (p.Violations > 0) != c.Illegal {
				t.Errorf("%+v: %d windows without an order", c, p.Violations)
			}
		}
		if c.Illegal && src.Violations() == 0 {
			t.Errorf("%+v: no violation was generated", c)
		}
	}
}
