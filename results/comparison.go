package results

import (
	"slices"

	"github.com/lockbench/lockbench/checker"
)

// CompareSchema is the schema name of "compare -o json".
const CompareSchema = "lockbench/compare/v1"

// Comparison is the difference between two runs, benches or suites.
type Comparison struct {
	Schema      string          `json:"schema"`
	Verdict     CompareVerdict  `json:"verdict"`
	Base        string          `json:"base"` // path, as given
	New         string          `json:"new"`
	Kind        string          `json:"kind"`      // runs, benches, suites
	Threshold   float64         `json:"threshold"` // least relative change that counts: 0.1
	Alpha       float64         `json:"alpha"`     // significance level per row, corrected for their number
	Environment []EnvDifference `json:"environment,omitempty"`
	Changes     []Change        `json:"changes"` // of verdicts, worst first
	Rows        []ComparisonRow `json:"rows"`    // of figures
	Notes       []string        `json:"notes,omitempty"`
}

// CompareVerdict is the outcome of a comparison.
type CompareVerdict string

// The outcomes, worst first.
const (
	CompareUnsafe       CompareVerdict = "unsafe"       // a property that held is violated
	CompareInconclusive CompareVerdict = "inconclusive" // too few samples, too much noise, or different environments
	CompareSlower       CompareVerdict = "slower"       // by more than the threshold, significantly
	ComparePass         CompareVerdict = "pass"
)

// EnvDifference is a part of the environment that differs.
type EnvDifference struct {
	Field string `json:"field"`
	Base  string `json:"base"`
	New   string `json:"new"`
}

// The marks of a row.
const (
	MarkNone   = "~"      // no significant difference
	MarkSmall  = "≈"      // significant, but below the threshold
	MarkWorse  = "worse"  // significant, beyond the threshold
	MarkBetter = "better" // significant, beyond the threshold
	// not shown to be worse, but it could be: by twice the threshold, or because the reference
	// alone changed
	MarkHidden   = "?"
	MarkFewer    = "–"    // too few samples
	MarkOnlyBase = "gone" // the new side has no figure
	MarkOnlyNew  = "new"  // the base has no figure
)

// ComparisonRow is one metric of one lock in one setting.
type ComparisonRow struct {
	Lock     string   `json:"lock"`
	Setting  string   `json:"setting"` // "8 clients", or the scenario of runs
	Metric   string   `json:"metric"`
	Unit     Unit     `json:"unit"`
	Base     Figure   `json:"base"`
	New      Figure   `json:"new"`
	Delta    *float64 `json:"delta"` // relative change, 0.2 = 20 % more; null: not known
	P        *float64 `json:"p"`     // Mann-Whitney U, two-sided; null: not computed
	N1       int      `json:"n1"`
	N2       int      `json:"n2"`
	Need     int      `json:"need,omitempty"`  // samples needed on each side, if there are too few
	Worst    *float64 `json:"worst,omitempty"` // largest change for the worse that the samples leave possible (95 %)
	Mark     string   `json:"mark"`
	Gated    bool     `json:"gated"`    // it decides the outcome
	Relative bool     `json:"relative"` // compares the ratios to the reference of the same repetition
	Note     string   `json:"note,omitempty"`
}

// Decided reports whether the row could have shown a difference.
func (r ComparisonRow) Decided() bool {
	return r.Mark != MarkFewer && r.Mark != MarkOnlyBase && r.Mark != MarkOnlyNew
}

// Has reports whether a gated row has a mark.
func (c Comparison) Has(mark string) bool {
	return slices.ContainsFunc(c.Rows, func(r ComparisonRow) bool { return r.Gated && r.Mark == mark })
}

// Noisy reports whether no figure is significantly worse but a gated one could be: more samples may
// decide.
func (c Comparison) Noisy() bool { return c.Has(MarkHidden) && !c.Has(MarkWorse) }

// WorstSafety joins verdicts: fail if one is fail, otherwise pass if one is pass, otherwise
// inconclusive.
func WorstSafety(all []checker.Result) checker.Result {
	verdict := checker.Inconclusive
	for _, v := range all {
		switch v {
		case checker.Fail:
			return checker.Fail
		case checker.Pass:
			verdict = checker.Pass
		}
	}
	return verdict
}

// Judge sets the verdict of a bench, as it is shown everywhere: a violated property is a fail, as
// is else a gate that is broken or a figure slower than the baseline's; else what is not known
// makes it inconclusive. Cells with one client have no hand-overs: a bench of such cells alone
// passes. An interrupted bench never passes, nor does one with a cell that measured no hold.
func (b *Bench) Judge() {
	var all []checker.Result
	measured := false
	for _, c := range b.Cells {
		if c.Reference || c.Verdict == checker.NotApplicable {
			continue
		}
		measured = true
		if c.Setting.Clients > 1 || c.Verdict == checker.Fail {
			all = append(all, c.Verdict)
		}
	}
	b.Schema, b.Verdict = BenchSchema, WorstSafety(all)
	if measured && len(all) == 0 {
		b.Verdict = checker.Pass
	}
	compared := ComparePass
	if b.Baseline != nil {
		compared = b.Baseline.Verdict
	}
	gates := GatesVerdict(b.Gates)
	switch {
	case compared == CompareUnsafe, compared == CompareSlower, gates == checker.Fail:
		b.Verdict = checker.Fail
	case b.Verdict != checker.Pass:
	case b.Interrupted, gates == checker.Inconclusive, compared == CompareInconclusive, slices.ContainsFunc(b.Cells, BenchCell.Empty):
		b.Verdict = checker.Inconclusive
	}
}

// Broken reports whether a lock violated a property, or one that held in the baseline does no more.
func (b *Bench) Broken() bool {
	return b.Baseline != nil && b.Baseline.Verdict == CompareUnsafe || slices.ContainsFunc(b.Cells, func(c BenchCell) bool { return !c.Reference && c.Verdict == checker.Fail })
}
