package results

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
)

// Gate is a limit on one metric, set by a scenario's slo or a flag.
type Gate struct {
	Metric Metric
	Least  bool    // the limit is a minimum, not a maximum
	Limit  float64 // in the metric's unit
	Text   string  // for people: "acquire.p99 <= 20ms"
}

// GateResult is a gate and the measured value.
type GateResult struct {
	Gate    string         `json:"gate"` // "acquire.p99 <= 20ms"
	Metric  string         `json:"metric"`
	Lock    string         `json:"lock,omitempty"`    // of a bench
	Setting string         `json:"setting,omitempty"` // of a bench: "8 clients"
	Limit   float64        `json:"limit"`             // in the metric's unit
	Value   *float64       `json:"value"`             // null: not measured
	Unit    Unit           `json:"unit"`
	Verdict checker.Result `json:"verdict"` // pass, fail, or inconclusive without a value
	Why     string         `json:"why,omitempty"`
}

// ParseGate parses "metric<=limit" or "metric>=limit"; < and > mean <= and >=. A limit on a time
// has a unit ("20ms"), one on a share may be in percent ("1%"). Where more is better the limit is a
// minimum, else a maximum. Errors leave out the text.
func ParseGate(text string) (Gate, error) {
	for _, op := range []string{"<=", ">=", "<", ">"} {
		if name, limit, ok := strings.Cut(text, op); ok {
			return newGate(strings.TrimSpace(name), strings.TrimSpace(limit), op[0] == '>', "%s<=%s", "%s>=%s")
		}
	}
	return Gate{}, errors.New("want a metric, <= or >=, and a limit, such as acquire.p99<=20ms")
}

// ParseBound parses "metric=limit", the form of --max and, with least, of --min.
func ParseBound(text string, least bool) (Gate, error) {
	name, limit, ok := strings.Cut(text, "=")
	if !ok || strings.ContainsAny(name, "<>") {
		return Gate{}, errors.New("want METRIC=LIMIT, such as --max acquire.p99=20ms or --min throughput=500")
	}
	return newGate(strings.TrimSpace(name), strings.TrimSpace(limit), least, "--max %s=%s", "--min %s=%s")
}

// newGate parses a limit. most and fewest are the forms in which a user writes a maximum and a
// minimum, of a metric and its limit.
func newGate(name, limit string, least bool, most, fewest string) (Gate, error) {
	m, err := FindMetric(name)
	if err != nil {
		return Gate{}, err
	}
	var value float64
	switch number, percent := strings.CutSuffix(limit, "%"); {
	case limit == "":
		return Gate{}, fmt.Errorf("the limit of %s is missing", m.Name)
	case m.Unit == Nanoseconds:
		d, err := time.ParseDuration(limit)
		if err != nil || d < 0 {
			return Gate{}, fmt.Errorf("%q: %s is a time: want a limit such as 20ms", limit, m.Name)
		}
		value = float64(d)
	default:
		value, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || value < 0 || math.IsNaN(value) || math.IsInf(value, 0) {
			return Gate{}, fmt.Errorf("%q: %s: want a number as its limit", limit, m.Name)
		}
		if percent && m.Unit != Share {
			return Gate{}, fmt.Errorf("%q: %s is not a share: its limit cannot be in percent", limit, m.Name)
		}
		if percent {
			value /= 100
		}
	}
	if m.Higher != least {
		better, form := "less", most
		if m.Higher {
			better, form = "more", fewest
		}
		return Gate{}, fmt.Errorf("of %s %s is better: want %s", m.Name, better, fmt.Sprintf(form, m.Name, limit))
	}
	sign := "<="
	if least {
		sign = ">="
	}
	return Gate{Metric: m, Least: least, Limit: value, Text: m.Name + " " + sign + " " + limit}, nil
}

// Check compares a figure of the gate's metric with the gate.
func (g Gate) Check(f Figure) GateResult {
	r := GateResult{Gate: g.Text, Metric: g.Metric.Name, Limit: g.Limit, Value: f.Value, Unit: g.Metric.Unit, Verdict: checker.Pass}
	switch {
	case f.Value == nil && f.Need > 0:
		r.Verdict, r.Why = checker.Inconclusive, fmt.Sprintf("%d of %d samples needed", f.Samples, f.Need)
	case f.Value == nil:
		r.Verdict, r.Why = checker.Inconclusive, "it was not measured"
	case g.Least && *f.Value < g.Limit, !g.Least && *f.Value > g.Limit:
		r.Verdict = checker.Fail
	}
	return r
}

// GatesVerdict returns fail if a gate failed, otherwise inconclusive if one is inconclusive,
// otherwise pass.
func GatesVerdict(all []GateResult) checker.Result {
	verdict := checker.Pass
	for _, g := range all {
		switch {
		case g.Verdict == checker.Fail:
			return checker.Fail
		case g.Verdict == checker.Inconclusive:
			verdict = checker.Inconclusive
		}
	}
	return verdict
}
