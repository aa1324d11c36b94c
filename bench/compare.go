package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// DefaultThreshold is the least relative change that counts.
const DefaultThreshold = 0.1

// familyAlpha bounds how often a comparison without any change reports slower, however many figures it compares (Bonferroni). It is lower than the
// usual 0.05 because a daily job must not raise a false alarm every month.
const familyAlpha = 0.01

// CompareOptions configures a comparison. The zero value of a field means what its comment says.
type CompareOptions struct {
	Threshold         float64 // 0: DefaultThreshold
	AllowEnvironments bool    // compare figures of different environments
	Raw               bool    // benches: compare figures as measured, not their ratios to the reference
}

// compared lists the metrics of a comparison; the gated ones decide its outcome. The others help to explain it, or are too noisy to decide. The
// hand-over is part of every hold for which clients compete, so the throughput of many clients includes it; alone it depends on the load of the
// processors in ways that no reference shows.
var compared = []struct {
	metric string
	gated  bool
}{
	{"throughput", true}, {"acquire.p50", true}, {"acquire.p99", false}, {"hand-over.p50", false}, {"hand-over.trips.p50", false},
	{"release.p50", false}, {"requests", true}, {"bytes", false}, {"client-cpu", false}, {"server-cpu", false}, {"recovery", true},
	{"jain", false}, {"errors", false},
}

// sample holds the values of one metric on one side.
type sample struct {
	figure results.Figure
	values []float64 // the compared values: figures, or their ratios to the reference
}

// place is a lock in a setting or a scenario.
type place struct{ lock, setting string }

// side is one side of a comparison.
type side struct {
	places   []place // in order
	verdicts map[place]checker.Result
	samples  map[place]map[string]sample
	relative bool
}

// CompareBenches compares a bench with an earlier one. If both measured the same reference, times and rates are compared by their ratio to the
// reference of the same repetition: a machine that is slower today is slower for both. The outcome is the worst that applies: unsafe, then
// inconclusive, then slower.
func CompareBenches(base, now results.Bench, o CompareOptions) results.Comparison {
	relative := !o.Raw && base.Plan.Reference == now.Plan.Reference && hasReference(base) && hasReference(now)
	c := compareSides(benchSide(base, relative), benchSide(now, relative), o)
	c.Kind = "benches"
	c.Environment = environmentDiff(base.Environment, now.Environment, base.Server, now.Server, version(base), version(now))
	if was, is := planText(base.Plan), planText(now.Plan); was != is {
		c.Environment = append(c.Environment, results.EnvDifference{Field: "plan", Base: was, New: is})
	}
	if relative {
		c.Notes = append(c.Notes, "times and rates are compared by their ratio to "+base.Plan.Reference+" in the same repetition")
		c.Notes = append(c.Notes, referenceDrift(base, now)...)
	}
	settle(&c, o)
	return c
}

func planText(p results.BenchPlan) string {
	text := fmt.Sprintf("lease %v, %v each", p.Lease, p.Measure)
	if !p.Relay {
		text += ", greedy"
	}
	if p.Pace != "" {
		text += ", " + p.Pace + " pace"
	}
	if p.Scenario != "" {
		text += ", faults of " + p.Scenario
	}
	return text
}

func hasReference(b results.Bench) bool {
	return slices.ContainsFunc(b.Cells, func(c results.BenchCell) bool { return c.Reference && c.Figures["throughput"].Value != nil })
}

func version(b results.Bench) string {
	if len(b.Nodes) == 0 {
		return ""
	}
	return b.Nodes[0].Version
}

func benchSide(b results.Bench, relative bool) side {
	s := side{verdicts: map[place]checker.Result{}, samples: map[place]map[string]sample{}, relative: relative}
	reference := map[results.BenchSetting]results.BenchCell{}
	for _, c := range b.Cells {
		if c.Reference {
			reference[c.Setting] = c
			continue
		}
		at := place{c.Lock, c.Setting.String()}
		s.places, s.verdicts[at] = append(s.places, at), c.Verdict
		s.samples[at] = map[string]sample{}
		for name, f := range c.Figures {
			s.samples[at][name] = sample{f, comparedValues(f, reference[c.Setting].Figures[name], relative)}
		}
	}
	return s
}

// comparedValues returns the figure's values; for a relative comparison, times and rates are divided by the reference's.
func comparedValues(f, reference results.Figure, relative bool) (out []float64) {
	divide := relative && (f.Unit == results.Nanoseconds || f.Unit == results.PerSecond) && len(reference.Values) == len(f.Values)
	for i, v := range f.Values {
		switch {
		case v == nil:
		case !divide:
			out = append(out, *v)
		case reference.Values[i] != nil && *reference.Values[i] > 0:
			out = append(out, *v / *reference.Values[i])
		}
	}
	return out
}

// referenceDrift returns a note if the reference itself changed, which means that the machine or the server did.
func referenceDrift(base, now results.Bench) (notes []string) {
	throughput := func(b results.Bench, s results.BenchSetting) *float64 {
		for _, c := range b.Cells {
			if c.Reference && c.Setting == s {
				return c.Figures["throughput"].Value
			}
		}
		return nil
	}
	for _, s := range base.Plan.Settings {
		a, z := throughput(base, s), throughput(now, s)
		if a == nil || z == nil || *a == 0 {
			continue
		}
		if d := *z / *a - 1; d > DefaultThreshold || d < -DefaultThreshold {
			notes = append(notes, fmt.Sprintf("%s × %s itself went from %.0f to %.0f holds/s: the machine or its load differs", base.Plan.Reference, s, *a, *z))
		}
	}
	return notes
}

// Ran is a run to compare: its record, and its result, nil if it has none.
type Ran struct {
	Run    results.Run
	Result *results.Result
}

// CompareRuns compares runs with earlier ones. The runs of one lock in one scenario are its samples.
func CompareRuns(base, now []Ran, o CompareOptions) results.Comparison {
	c := compareSides(runSide(base), runSide(now), o)
	c.Kind = "runs"
	if len(base) > 0 && len(now) > 0 {
		a, z := base[0].Run, now[0].Run
		c.Environment = environmentDiff(a.Environment, z.Environment, a.Server, z.Server, nodeVersion(a), nodeVersion(z))
	}
	settle(&c, o)
	return c
}

func nodeVersion(r results.Run) string {
	if len(r.Nodes) == 0 {
		return ""
	}
	return r.Nodes[0].Version
}

func runSide(all []Ran) side {
	s := side{verdicts: map[place]checker.Result{}, samples: map[place]map[string]sample{}}
	verdicts := map[place][]checker.Result{}
	values := map[place]map[string][]float64{}
	for _, r := range all {
		at := place{r.Run.Lock, r.Run.Scenario}
		if _, known := verdicts[at]; !known {
			s.places, values[at] = append(s.places, at), map[string][]float64{}
		}
		if r.Result == nil {
			verdicts[at] = append(verdicts[at], checker.Inconclusive)
			continue
		}
		verdicts[at] = append(verdicts[at], r.Result.Verdict)
		for name, m := range r.Result.Values() {
			if m.Value != nil {
				values[at][name] = append(values[at][name], *m.Value)
			}
		}
	}
	for at, v := range verdicts {
		s.verdicts[at], s.samples[at] = results.WorstSafety(v), map[string]sample{}
		for name, all := range values[at] {
			m, err := results.FindMetric(name)
			if err != nil {
				continue
			}
			f := results.Figure{Unit: m.Unit, Samples: int64(len(all))}
			f.Value, f.Low, f.High = Summary(all)
			s.samples[at][name] = sample{f, all}
		}
	}
	return s
}

// CompareSuites compares the cells of a suite with an earlier one's. A suite has no figures.
func CompareSuites(base, now results.Suite, o CompareOptions) results.Comparison {
	now.Against(base, true)
	c := results.Comparison{Schema: results.CompareSchema, Kind: "suites", Changes: now.Changes, Rows: []results.ComparisonRow{}}
	if base.Server != now.Server {
		c.Environment = []results.EnvDifference{{Field: "server", Base: base.Server, New: now.Server}}
	}
	settle(&c, o)
	return c
}

// compareSides compares verdicts and figures.
func compareSides(base, now side, o CompareOptions) results.Comparison {
	c := results.Comparison{Schema: results.CompareSchema, Threshold: cmp.Or(o.Threshold, DefaultThreshold), Changes: []results.Change{}, Rows: []results.ComparisonRow{}}
	for _, at := range now.places {
		if was, known := base.verdicts[at]; known {
			c.Changes = append(c.Changes, verdictChange(at, was, now.verdicts[at])...)
		}
	}
	gated := 0
	for _, at := range base.places {
		gated += gatedRows(base.samples[at], now.samples[at])
	}
	c.Alpha = familyAlpha / float64(max(gated, 1))
	for _, at := range base.places {
		if _, known := now.verdicts[at]; !known {
			c.Changes = append(c.Changes, results.Change{Lock: at.lock, Scenario: at.setting, Change: results.Gone, Was: string(base.verdicts[at])})
			continue
		}
		for _, m := range compared {
			if r, ok := row(at, m.metric, base.samples[at], now.samples[at], c.Threshold, c.Alpha); ok {
				r.Gated, r.Relative = m.gated, base.relative && (r.Unit == results.Nanoseconds || r.Unit == results.PerSecond)
				unclear(&r)
				c.Rows = append(c.Rows, r)
			}
		}
	}
	return c
}

func verdictChange(at place, was, is checker.Result) []results.Change {
	change := results.Change{Lock: at.lock, Scenario: at.setting, Was: string(was), Is: string(is)}
	switch {
	case was != checker.Fail && is == checker.Fail:
		change.Change = results.Broken
	case was == checker.Fail && is == checker.Pass:
		change.Change = results.Fixed
	default:
		return nil
	}
	return []results.Change{change}
}

func gatedRows(base, now map[string]sample) (n int) {
	for _, m := range compared {
		if m.gated && base[m.metric].figure.Value != nil && now[m.metric].figure.Value != nil {
			n++
		}
	}
	return n
}

// row compares one metric. ok is false if neither side has it.
func row(at place, metric string, base, now map[string]sample, threshold, alpha float64) (r results.ComparisonRow, ok bool) {
	a, hasA := base[metric]
	z, hasZ := now[metric]
	if !hasA && !hasZ {
		return r, false
	}
	m, _ := results.FindMetric(metric)
	r = results.ComparisonRow{Lock: at.lock, Setting: at.setting, Metric: metric, Unit: m.Unit, Base: bareFigure(a.figure), New: bareFigure(z.figure), N1: len(a.values), N2: len(z.values)}
	switch {
	case a.figure.Value == nil && z.figure.Value == nil:
		return r, false
	case z.figure.Value == nil:
		r.Mark = results.MarkOnlyBase
		return r, true
	case a.figure.Value == nil:
		r.Mark = results.MarkOnlyNew
		return r, true
	}
	before, after := median(a.values), median(z.values)
	if before != 0 {
		delta := after/before - 1
		r.Delta = &delta
	}
	if least := LeastSamples(alpha); min(r.N1, r.N2) < least && !equal(a.values, z.values) {
		r.Mark, r.Need = results.MarkFewer, least
		return r, true
	}
	p := Different(a.values, z.values)
	r.P = &p
	r.Mark = markOf(m, r.Delta, p, threshold, alpha, after)
	r.Worst = worst(m, a.values, z.values)
	shown := r.Mark == results.MarkWorse || r.Mark == results.MarkBetter || equal(a.values, z.values)
	if !shown && r.Worst != nil && *r.Worst > hiding*threshold {
		r.Mark = results.MarkHidden
	}
	return r, true
}

// unclear marks a row as hidden that is worse by its ratio to the reference although the figure itself did not get worse: then the reference got
// better, and the machine changed in something that affects only one of them.
func unclear(r *results.ComparisonRow) {
	if !r.Relative || r.Mark != results.MarkWorse || r.Worst == nil {
		return
	}
	m, _ := results.FindMetric(r.Metric)
	if change := *r.New.Value - *r.Base.Value; change == 0 || change > 0 == m.Higher {
		r.Mark = results.MarkHidden
	}
}

// hiding is how many times the threshold a change must be before a comparison that could miss it is inconclusive.
const hiding = 2

// worst returns the largest change for the worse that two samples do not exclude with a confidence of 95 %, as the relative increase of a time or,
// for a rate, of the time that it stands for; nil if the samples do not bound it.
func worst(m results.Metric, before, after []float64) *float64 {
	low, high, ok := Shift(before, after)
	if !ok {
		return nil
	}
	if m.Higher {
		high = 1 / low
	}
	high--
	return &high
}

// bareFigure removes what a row does not show.
func bareFigure(f results.Figure) results.Figure {
	f.Values, f.Ratio = nil, nil
	return f
}

// equal reports whether two samples have the same values, so that more samples would show nothing.
func equal(a, b []float64) bool {
	x, y := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(x, y)
}

func median(values []float64) float64 {
	v, _, _ := Summary(values)
	if v == nil {
		return 0
	}
	return *v
}

// markOf returns the mark of a difference: none shown, too small to count, or better or worse beyond threshold and noise. A change from zero to
// anything exceeds every threshold.
func markOf(m results.Metric, delta *float64, p, threshold, alpha, after float64) string {
	if p > alpha {
		return results.MarkNone
	}
	change := 1.0
	if delta != nil {
		change = *delta
	} else if after == 0 {
		return results.MarkNone
	}
	// A rate that falls by a share s takes 1/(1-s) of the time; this gives the threshold the same meaning for rates as for times.
	beyond := change >= threshold || change <= -threshold/(1+threshold)
	switch {
	case !beyond:
		return results.MarkSmall
	case change > 0 == m.Higher:
		return results.MarkBetter
	}
	return results.MarkWorse
}

// environmentDiff lists the differences that affect figures. It leaves out versions of Go, of the kernel and of modules, because users may want to
// compare those.
func environmentDiff(a, b results.Environment, serverA, serverB, versionA, versionB string) []results.EnvDifference {
	text := func(e results.Environment, server, version string) map[string]string {
		return map[string]string{"server": server, "redis": version, "platform": e.Platform, "cpu": e.CPU, "cpus": fmt.Sprint(e.CPUs),
			"gomaxprocs": fmt.Sprint(e.GOMAXPROCS), "cpu quota": fmt.Sprint(e.CPUQuota), "memory limit": fmt.Sprint(e.MemoryLimit)}
	}
	before, after := text(a, serverA, versionA), text(b, serverB, versionB)
	var out []results.EnvDifference
	for _, field := range slices.Sorted(maps.Keys(before)) {
		if before[field] != after[field] {
			out = append(out, results.EnvDifference{Field: field, Base: before[field], New: after[field]})
		}
	}
	return out
}

// settle sets the outcome, and sorts the changes for the worse first.
func settle(c *results.Comparison, o CompareOptions) {
	sort.SliceStable(c.Changes, func(i, j int) bool { return graver(c.Changes[i]) > graver(c.Changes[j]) })
	has := func(mark string) bool {
		return slices.ContainsFunc(c.Rows, func(r results.ComparisonRow) bool { return r.Gated && r.Mark == mark })
	}
	c.Verdict = results.ComparePass
	switch {
	case slices.ContainsFunc(c.Changes, func(x results.Change) bool { return x.Change == results.Broken }):
		c.Verdict = results.CompareUnsafe
	case len(c.Environment) > 0 && !o.AllowEnvironments:
		c.Verdict = results.CompareInconclusive
		c.Notes = append(c.Notes, "the environments differ, so figures say nothing of the locks; --allow-env-diff compares them all the same")
	case has(results.MarkFewer) || c.Kind != "suites" && !slices.ContainsFunc(c.Rows, func(r results.ComparisonRow) bool { return r.Gated && r.Decided() }):
		c.Verdict = results.CompareInconclusive
		c.Notes = append(c.Notes, fewNote(c.Rows))
	case slices.ContainsFunc(c.Changes, func(x results.Change) bool { return x.Change == results.Gone }):
		c.Verdict = results.CompareInconclusive
		c.Notes = append(c.Notes, "something that was measured before is gone")
	case has(results.MarkWorse):
		c.Verdict = results.CompareSlower
	case c.Noisy():
		c.Verdict = results.CompareInconclusive
		c.Notes = append(c.Notes, noisyNote(*c))
	}
}

// noisyNote names the figure with the largest change that could be hidden.
func noisyNote(c results.Comparison) string {
	var most results.ComparisonRow
	for _, r := range c.Rows {
		if r.Gated && r.Mark == results.MarkHidden && (most.Worst == nil || *r.Worst > *most.Worst) {
			most = r
		}
	}
	return fmt.Sprintf("too noisy to pass: %s of %s with %s may be %.0f %% worse, and less than %.0f %% has to be shown; more repetitions or a quieter machine show it",
		most.Metric, most.Lock, most.Setting, 100**most.Worst, 100*hiding*c.Threshold)
}

func graver(c results.Change) int {
	switch c.Change {
	case results.Broken:
		return 2
	case results.Gone:
		return 1
	}
	return 0
}

func fewNote(rows []results.ComparisonRow) string {
	need := 0
	for _, r := range rows {
		need = max(need, r.Need)
	}
	if need == 0 {
		return "there is no figure to compare on both sides"
	}
	return fmt.Sprintf("too few samples to show a difference: %d on each side are needed (bench --reps %d, run --reps %d)", need, need, need)
}
