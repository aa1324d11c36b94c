package results

import "github.com/lockbench/lockbench/checker"

// CompareSchema is the schema name of "compare -o json".
const CompareSchema = "lockbench/compare/v1"

// Comparison is what changed from one run, bench or suite to another.
type Comparison struct {
	Schema      string          `json:"schema"`
	Verdict     CompareVerdict  `json:"verdict"`
	Base        string          `json:"base"` // paths as they were given
	New         string          `json:"new"`
	Kind        string          `json:"kind"`      // runs, benches, suites
	Threshold   float64         `json:"threshold"` // least relative change that counts: 0.1
	Alpha       float64         `json:"alpha"`     // of each comparison, after correction for their number
	Environment []EnvDifference `json:"environment,omitempty"`
	Changes     []Change        `json:"changes"` // of verdicts, the worse ones first
	Rows        []ComparisonRow `json:"rows"`    // of figures
	Notes       []string        `json:"notes,omitempty"`
}

// CompareVerdict is the outcome of a comparison, the gravest first.
type CompareVerdict string

// The outcomes.
const (
	CompareUnsafe       CompareVerdict = "unsafe"       // something held and does not any more
	CompareInconclusive CompareVerdict = "inconclusive" // too few samples, or unlike environments
	CompareSlower       CompareVerdict = "slower"       // beyond the threshold and beyond the noise
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
	MarkNone     = "~"      // no difference shown
	MarkSmall    = "≈"      // a difference is shown, and is below the threshold
	MarkWorse    = "worse"  // shown, and beyond the threshold
	MarkBetter   = "better" //
	MarkFewer    = "–"      // too few samples to show any
	MarkOnlyBase = "gone"   // one side has no figure
	MarkOnlyNew  = "new"
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
	Need     int      `json:"need,omitempty"` // samples on each side that were needed, when there are too few
	Mark     string   `json:"mark"`
	Gated    bool     `json:"gated"`    // it decides the outcome
	Relative bool     `json:"relative"` // what was compared is the ratio to the reference of the same repetition
	Note     string   `json:"note,omitempty"`
}

// Decided reports whether the row could have shown a difference.
func (r ComparisonRow) Decided() bool {
	return r.Mark != MarkFewer && r.Mark != MarkOnlyBase && r.Mark != MarkOnlyNew
}

// WorstSafety is the verdict of several that were checked: fail when one is, inconclusive when none is pass.
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

// Judge sets the verdict of a bench from its cells. One client alone meets nobody: its cells show nothing of safety, and a bench of such
// cells is one of figures only.
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
}
