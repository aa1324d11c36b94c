package results

import "github.com/lockbench/lockbench/checker"

// Values returns the figures of a run by metric. A run in the simulator has only those that need no
// clock.
func (r Result) Values() map[string]Figure {
	out := map[string]Figure{}
	set := func(name string, v float64, n int64) {
		m, _ := FindMetric(name)
		out[name] = Figure{Unit: m.Unit, Value: &v, Samples: n}
	}
	asked, failed := int64(0), int64(0)
	for outcome, n := range r.Operations["acquire"] {
		asked += int64(n)
		if outcome == "fail" || outcome == "unknown" {
			failed += int64(n)
		}
	}
	if asked > 0 {
		set("errors", float64(failed)/float64(asked), asked)
	}
	if r.NoLatency != "" {
		return out
	}
	if r.Load.Duration > 0 {
		set("throughput", r.Load.Achieved, int64(r.Operations["acquire"]["ok"]))
	}
	if r.Load.Open && r.Load.Offered > 0 {
		set("achieved", r.Load.Achieved/r.Load.Offered, int64(r.Operations["acquire"]["ok"]))
	}
	if r.Health.Starts > 0 && r.Load.Open {
		set("late", float64(r.Health.LateStarts)/float64(r.Health.Starts), r.Health.Starts)
	}
	for op, l := range r.Latency {
		spreadValues(out, op, l.Response)
		if op == "acquire" {
			spreadValues(out, op+".service", l.Service)
		}
	}
	if l, ok := r.Latency["acquire"]; ok && l.Response.Count > 0 {
		set("longest-wait", float64(l.Response.Max), l.Response.Count)
	}
	return out
}

func spreadValues(out map[string]Figure, name string, s Spread) {
	for p, v := range map[string]int64{"p50": s.P50, "p90": s.P90, "p99": s.P99, "p99.9": s.P999} {
		m := Figure{Unit: Nanoseconds, Samples: s.Count}
		if _, need, _ := Quantile(p); s.Count >= need {
			m.Value = new(float64(v))
		} else if s.Count > 0 {
			m.Need = need
		}
		out[name+"."+p] = m
	}
}

// CheckGates checks the run's figures against gates.
func (r Result) CheckGates(gates []Gate) (out []GateResult) {
	values := r.Values()
	for _, g := range gates {
		one := g.Check(values[g.Metric.Name])
		if r.NoLatency != "" && g.Metric.Unit == Nanoseconds {
			one.Why = r.NoLatency
		}
		out = append(out, one)
	}
	return out
}

// CheckGates checks every measured cell but the reference's against the limits.
func (b Bench) CheckGates(gates []Gate) (out []GateResult) {
	for _, c := range b.Cells {
		if c.Reference || c.Verdict == checker.NotApplicable || c.Setting.Crash {
			continue
		}
		for _, g := range gates {
			r := g.Check(c.Figures[g.Metric.Name])
			r.Lock, r.Setting = c.Lock, c.Setting.String()
			out = append(out, r)
		}
	}
	return out
}
