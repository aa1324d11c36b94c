package bench

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// DefaultThreshold is the least relative change that counts.
const DefaultThreshold = 0.1

// familyAlpha bounds how often a comparison without any change reports slower, however many figures
// it compares (Bonferroni). It is lower than the usual 0.05 because a daily job must not raise a
// false alarm every month.
const familyAlpha = 0.01

// CompareOptions configures a comparison. The zero value of a field means what its comment says.
type CompareOptions struct {
	Threshold         float64 // 0: DefaultThreshold
	AllowEnvironments bool    // compare figures of different environments
	Raw               bool    // benches: compare figures as measured, not their ratios to the reference
}

// CompareBenches compares a bench with an earlier one. If both measured the same reference, times
// and rates are compared by their ratio to the reference of the same repetition: a machine that is
// slower today is slower for both. The outcome is the worst that applies: unsafe, then
// inconclusive, then slower.
func CompareBenches(base, now results.Bench, o CompareOptions) results.Comparison {
	relative := !o.Raw && base.Plan.Reference == now.Plan.Reference && hasReference(base) && hasReference(now)
	before, after := benchSide(base, relative), benchSide(now, relative)
	c := compareSides(before, after, o)
	c.Kind = "benches"
	c.Environment = environmentDiff(machine(base.Environment, base.Server, base.Nodes), machine(now.Environment, now.Server, now.Nodes))
	if was, is := planText(base.Plan), planText(now.Plan); was != is {
		c.Environment = append(c.Environment, results.EnvDifference{Field: "plan", Base: was, New: is})
	}
	if relative {
		c.Notes = append(c.Notes, "times and rates are compared by their ratio to "+base.Plan.Reference+" in the same repetition")
		for _, setting := range slices.Sorted(maps.Keys(before.speed)) {
			// Where the reference itself changed, so did the machine or the server.
			if d := drift(before, after, setting); d > DefaultThreshold || d < -DefaultThreshold {
				c.Notes = append(c.Notes, fmt.Sprintf("%s × %s itself went from %.0f to %.0f holds/s: the machine or its load differs",
					base.Plan.Reference, setting, before.speed[setting], after.speed[setting]))
			}
		}
	}
	settle(&c, o)
	return c
}

// drift returns the relative change of the reference's throughput in a setting; 0 if one side has
// none.
func drift(base, now side, setting string) float64 {
	if base.speed[setting] == 0 || now.speed[setting] == 0 {
		return 0
	}
	return now.speed[setting]/base.speed[setting] - 1
}

// CompareRuns compares runs with earlier ones. The runs of one lock in one scenario are its
// samples.
func CompareRuns(base, now []Ran, o CompareOptions) results.Comparison {
	c := compareSides(runSide(base), runSide(now), o)
	c.Kind = "runs"
	if len(base) > 0 && len(now) > 0 {
		a, z := base[0].Run, now[0].Run
		c.Environment = environmentDiff(machine(a.Environment, a.Server, a.Nodes), machine(z.Environment, z.Server, z.Nodes))
	}
	settle(&c, o)
	return c
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

func compareSides(base, now side, o CompareOptions) results.Comparison {
	c := results.Comparison{Schema: results.CompareSchema, Threshold: cmp.Or(o.Threshold, DefaultThreshold), Changes: []results.Change{}, Rows: []results.ComparisonRow{}}
	for _, at := range now.places {
		was, known := base.verdicts[at]
		is := now.verdicts[at]
		change := results.Change{Lock: at.lock, Scenario: at.setting, Was: string(was), Is: string(is)}
		switch {
		case was != checker.Fail && is == checker.Fail:
			change.Change = results.Broken
		case was == checker.Fail && is == checker.Pass:
			change.Change = results.Fixed
		}
		if known && change.Change != "" {
			c.Changes = append(c.Changes, change)
		}
	}
	uncompared := func(m results.Metric) bool { return m.Role == results.Uncompared }
	gated, metrics := 0, slices.DeleteFunc(results.Metrics(), uncompared)
	for _, at := range base.places {
		for _, m := range metrics {
			was, is := base.samples[at][m.Name], now.samples[at][m.Name]
			if m.Gated(now.open[at]) && was.figure.Value != nil && is.figure.Value != nil {
				gated++
			}
		}
	}
	c.Alpha = familyAlpha / float64(max(gated, 1))
	for _, at := range base.places {
		if _, known := now.verdicts[at]; !known {
			c.Changes = append(c.Changes, results.Change{Lock: at.lock, Scenario: at.setting, Change: results.Gone, Was: string(base.verdicts[at])})
			continue
		}
		for _, m := range metrics {
			if r, ok := row(at, m, base.samples[at], now.samples[at], limits{c.Threshold, c.Alpha}); ok {
				r.Gated, r.Relative = m.Gated(now.open[at]), base.relative && (r.Unit == results.Nanoseconds || r.Unit == results.PerSecond)
				if r.Relative && r.Decided() {
					confirm(&r, base.samples[at][m.Name], now.samples[at][m.Name], drift(base, now, at.setting), c.Threshold)
				}
				c.Rows = append(c.Rows, r)
			}
		}
	}
	return c
}

// machine returns what of an environment affects figures. It leaves out versions of Go, of the kernel
// and of modules, because users may want to compare those.
func machine(e results.Environment, server string, nodes []history.Server) map[string]string {
	version := ""
	if len(nodes) > 0 {
		version = nodes[0].Version
	}
	return map[string]string{"server": server, "redis": version, "platform": e.Platform, "cpu": e.CPU, "cpus": fmt.Sprint(e.CPUs),
		"gomaxprocs": fmt.Sprint(e.GOMAXPROCS), "cpu quota": fmt.Sprint(e.CPUQuota), "memory limit": fmt.Sprint(e.MemoryLimit)}
}

func environmentDiff(before, after map[string]string) []results.EnvDifference {
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
	graver := func(x results.Change) int {
		return slices.Index([]results.ChangeKind{results.Gone, results.Broken}, x.Change)
	}
	slices.SortStableFunc(c.Changes, func(a, b results.Change) int { return graver(b) - graver(a) })
	changed := func(kind results.ChangeKind) bool {
		return slices.ContainsFunc(c.Changes, func(x results.Change) bool { return x.Change == kind })
	}
	unclear := func(note string) { c.Verdict, c.Notes = results.CompareInconclusive, append(c.Notes, note) }
	c.Verdict = results.ComparePass
	switch {
	case changed(results.Broken):
		c.Verdict = results.CompareUnsafe
	case len(c.Environment) > 0 && !o.AllowEnvironments:
		unclear("the environments differ, so the figures do not compare the locks; --allow-env-diff compares them anyway")
	case c.Has(results.MarkFewer) || c.Kind != "suites" && !slices.ContainsFunc(c.Rows, func(r results.ComparisonRow) bool { return r.Gated && r.Decided() }):
		need := 0
		for _, r := range c.Rows {
			need = max(need, r.Need)
		}
		if need == 0 {
			unclear("there is no figure to compare on both sides")
		} else {
			unclear(fmt.Sprintf("too few samples to show a difference: %d on each side are needed (bench --reps %d, run --reps %d)", need, need, need))
		}
	case changed(results.Gone):
		unclear("a cell or figure of the base is missing")
	case c.Has(results.MarkWorse):
		c.Verdict = results.CompareSlower
	case c.Noisy():
		unclear(noisyNote(*c))
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
