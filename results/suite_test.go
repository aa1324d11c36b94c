package results_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// showing returns a result with the given "property/cause" breaks.
func showing(verdict checker.Result, breaks ...string) results.Result {
	r := results.Result{Lock: "l", Scenario: "s", Verdict: verdict}
	for _, b := range breaks {
		property, cause, _ := strings.Cut(b, "/")
		causes := map[verdicts.Cause]int{}
		if cause != "" {
			causes[verdicts.Cause(cause)] = 1
		}
		r.Properties = append(r.Properties, checker.Property{Name: verdicts.Property(property), Verdict: checker.Fail, Causes: causes})
	}
	return r
}

func stalled(r results.Result) results.Result {
	r.Health.MaxStall, r.Health.Stalled = 120*time.Millisecond, true
	return r
}

func failing(r results.Result) results.Result {
	r.Reason = "39 of 40 acquires failed: OOM"
	return r
}

func TestNewCell(t *testing.T) {
	const me, ex = "mutual-exclusion/mis-unlock", "exclusive-use/lease-overrun"
	for _, tt := range []struct {
		name     string
		result   results.Result
		want     verdicts.Expectation
		verdict  checker.Result
		observed string
		why      string
	}{
		{"safe as expected", showing(checker.Pass), verdicts.Safe(), checker.Pass, "safe", ""},
		{"broken as expected", showing(checker.Fail, me), verdicts.Breaks(me), checker.Pass, me, ""},
		{"broken, and one that may be seen", showing(checker.Fail, me, ex), verdicts.Breaks(me).Or(ex), checker.Pass, me + " " + ex, ""},
		{"the expected break was not seen", showing(checker.Pass), verdicts.Breaks(me), checker.Fail, "safe", "not seen: " + me},
		{"another cause is another break", showing(checker.Fail, "mutual-exclusion/unknown"), verdicts.Breaks(me), checker.Fail,
			"mutual-exclusion/unknown", "not expected: mutual-exclusion/unknown"},
		{"an optional break alone is not enough", showing(checker.Fail, ex), verdicts.Breaks(me).Or(ex), checker.Fail, ex, "not seen: " + me},
		{"broken though expected safe", showing(checker.Fail, ex), verdicts.Safe(), checker.Fail, ex, "not expected: " + ex},
		{"inconclusive is not a pass", showing(checker.Inconclusive), verdicts.Safe(), checker.Inconclusive, "safe", ""},
		{"most acquires failed", failing(showing(checker.Inconclusive)), verdicts.Safe(), checker.Inconclusive, "safe", "39 of 40 acquires failed: OOM"},
		{"inconclusive, and the expected break was not seen", showing(checker.Inconclusive), verdicts.Breaks(me), checker.Inconclusive, "safe", ""},
		{"inconclusive, and another break was seen", showing(checker.Inconclusive, ex), verdicts.Safe(), checker.Fail, ex, "not expected: " + ex},
		{"linearizability by the same cause", showing(checker.Fail, me, "linearizability/mis-unlock"), verdicts.Breaks(me), checker.Pass, me, ""},
		{"linearizability alone", showing(checker.Fail, "linearizability/unknown"), verdicts.Safe(), checker.Fail,
			"linearizability/unknown", "not expected: linearizability/unknown"},
		{"linearizability alone, by the cause of an optional break", showing(checker.Fail, "linearizability/mis-unlock"), verdicts.Safe().Or(me), checker.Pass,
			"linearizability/mis-unlock", ""},
		{"linearizability alone, by another cause", showing(checker.Fail, "linearizability/orphan"), verdicts.Safe().Or(me), checker.Fail,
			"linearizability/orphan", "not expected: linearizability/orphan"},
		{"linearizability alone, and no optional break of order", showing(checker.Fail, "linearizability/lease-overrun"), verdicts.Safe().Or(ex), checker.Fail,
			"linearizability/lease-overrun", "not expected: linearizability/lease-overrun"},
		{"a failure without a cause", showing(checker.Fail, "progress"), verdicts.Safe(), checker.Fail, "progress/unknown", "not expected: progress/unknown"},
		{"another break while the machine stalled", stalled(showing(checker.Fail, ex)), verdicts.Safe(), checker.Inconclusive, ex,
			"unplanned stall of the host for 120ms; not expected: " + ex},
		{"no break while the machine stalled", stalled(showing(checker.Pass)), verdicts.Breaks(me), checker.Inconclusive, "safe",
			"unplanned stall of the host for 120ms; not seen: " + me},
		{"as expected, though the machine stalled", stalled(showing(checker.Fail, me)), verdicts.Breaks(me), checker.Pass, me, ""},
		{"does not apply", showing(checker.Pass), verdicts.NotApplicable("no lease"), checker.NotApplicable, "safe", "no lease"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := results.NewCell(tt.result, tt.want)
			if got.Verdict != tt.verdict || got.Observed != tt.observed || got.Why != tt.why || got.Expected != tt.want.String() {
				t.Errorf("%+v\nwant %s, observed %q, why %q", got, tt.verdict, tt.observed, tt.why)
			}
		})
	}
}

func TestPlantedCell(t *testing.T) {
	const me = "mutual-exclusion/mis-unlock"
	for _, tt := range []struct {
		name    string
		result  results.Result
		want    verdicts.Expectation
		verdict checker.Result
	}{
		{"the expected break", showing(checker.Fail, me), verdicts.Breaks(me), checker.Pass},
		{"of any cause", showing(checker.Fail, me), verdicts.Breaks("mutual-exclusion"), checker.Pass},
		{"the expected break and another", showing(checker.Fail, me, "progress/orphan"), verdicts.Breaks(me), checker.Pass},
		{"another break", showing(checker.Fail, "progress/orphan"), verdicts.Breaks(me), checker.Fail},
		{"another cause", showing(checker.Fail, "mutual-exclusion/double-grant"), verdicts.Breaks(me), checker.Fail},
		{"no break", showing(checker.Pass), verdicts.Breaks(me), checker.Fail},
		{"inconclusive", showing(checker.Inconclusive), verdicts.Breaks(me), checker.Inconclusive},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := results.PlantedCell(tt.result, tt.want); got.Verdict != tt.verdict || got.Expected != tt.want.String() {
				t.Errorf("%+v, want %s", got, tt.verdict)
			}
		})
	}
}

// A stall is an excuse on a real server and not in the simulator.
func TestCellOfAStalledRun(t *testing.T) {
	const asleep = "progress/lost-wakeup"
	for server, verdict := range map[string]checker.Result{"sim": checker.Fail, "process": checker.Pass, "docker": checker.Pass} {
		r := showing(checker.Fail, asleep)
		r.Server = server
		if got := results.NewCell(r, verdicts.Safe().OrOnServers(asleep)); got.Verdict != verdict {
			t.Errorf("on %s: %+v, want %s", server, got, verdict)
		}
	}
}

// The median is of the cells that caught a bug, each bug's first.
func TestSensitivityMedian(t *testing.T) {
	caught := func(lock string, took time.Duration) results.Cell {
		return results.Cell{Lock: lock, Observed: "renewal/orphan", Verdict: checker.Pass, Planted: true, Duration: took}
	}
	s := results.Suite{Cells: []results.Cell{caught("a", 9), caught("b", 2), caught("c", 4), caught("c", 1),
		{Lock: "d", Observed: "safe", Verdict: checker.Fail, Planted: true, Duration: 1}}}
	s.Judge()
	if want := (results.Sensitivity{Planted: 4, Caught: 3, Missed: []string{"d"}, Median: 4}); !reflect.DeepEqual(s.Sensitivity, want) {
		t.Errorf("%+v, want %+v", s.Sensitivity, want)
	}
}

func TestSuiteVerdictAndSensitivity(t *testing.T) {
	ok, broke := results.Cell{Lock: "a", Verdict: checker.Pass, Observed: "safe"}, results.Cell{Lock: "b", Verdict: checker.Pass, Observed: "progress/no-expiry"}
	planted := func(lock, observed string, v checker.Result) results.Cell {
		return results.Cell{Lock: lock, Observed: observed, Verdict: v, Planted: true}
	}
	for _, tt := range []struct {
		name    string
		cells   []results.Cell
		verdict checker.Result
		caught  int
		missed  []string
	}{
		{"all as expected", []results.Cell{ok, broke, results.NACell("a", "s", "why")}, checker.Pass, 0, []string{}},
		{"one differs", []results.Cell{ok, {Lock: "c", Verdict: checker.Fail}}, checker.Fail, 0, []string{}},
		{"one without a verdict", []results.Cell{ok, results.ErrorCell("c", "s", verdicts.Safe(), errors.New("no server"))}, checker.Inconclusive, 0, []string{}},
		{"nothing was run", []results.Cell{results.NACell("a", "s", "why")}, checker.Inconclusive, 0, []string{}},
		{"no cells", nil, checker.Inconclusive, 0, []string{}},
		{"a planted bug is caught in one of its cells", []results.Cell{planted("p", "safe", checker.Pass), planted("p", "renewal/orphan", checker.Pass)},
			checker.Pass, 1, []string{}},
		{"a bug caught in two cells counts once", []results.Cell{planted("p", "renewal/orphan", checker.Pass), planted("p", "renewal/orphan", checker.Pass)},
			checker.Pass, 1, []string{}},
		{"a planted bug is missed", []results.Cell{planted("p", "safe", checker.Pass), planted("q", "renewal/orphan", checker.Pass)},
			checker.Fail, 1, []string{"p"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := results.Suite{Cells: tt.cells}
			s.Judge()
			if s.Verdict != tt.verdict || s.Sensitivity.Caught != tt.caught || !slices.Equal(s.Sensitivity.Missed, tt.missed) {
				t.Errorf("%s, %+v; want %s, caught %d, missed %v", s.Verdict, s.Sensitivity, tt.verdict, tt.caught, tt.missed)
			}
			data, err := json.Marshal(s)
			if err != nil || !strings.Contains(string(data), `"schema":"lockbench/suite/v1"`) || strings.Contains(string(data), `:null`) {
				t.Errorf("%s, %v", data, err)
			}
		})
	}
}
