package report

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// junitSuite has a test case for each property of a lock × scenario:
//
//   - A violated property is a failure, unless the violation is expected.
//   - An inconclusive property is skipped, with the reason.
//   - A property that does not apply is skipped as "n/a".
//   - A run without a verdict is an error of the case "run".
type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

// junitCounts are the totals of a suite, or of all suites.
type junitCounts struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Time     string `xml:"time,attr"`
	took     time.Duration
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// RunJUnit writes a run as one JUnit suite. result is nil if the run was not checked.
func RunJUnit(w io.Writer, run results.Run, result *results.Result) error {
	run, result = Clean(run), Clean(result)
	s := newJUnitSuite(run.Lock, run.Scenario+OtherWorkload(run.Workload), run.Duration, run.Start)
	s.Properties = []junitProperty{{"server", run.Server}, {"seed", fmt.Sprint(run.Seed)}, {"again", results.CommandLine(run.Argv)}}
	if result == nil {
		s.add(junitCase{Name: "run", Error: &junitMessage{Message: "no verdict: " + cmp.Or(run.Failure, "the run was not checked")}})
		return writeJUnit(w, s)
	}
	s.Properties[2].Value = result.Rerun
	listed := false
	for _, p := range result.Properties {
		often := Plural(p.Violations, "violation")
		if p.Opportunities > 0 {
			often = fmt.Sprintf("%s of %s (%s; 95 %%: %s to %s)", Count(p.Violations), Plural(p.Opportunities, opportunity(p.Name)), Percent(p.Rate),
				Percent(p.CI95[0]), Percent(p.CI95[1]))
		}
		failure := junitMessage{Message: often + notJudged(p) + "  " + PropertyCauses(p), Type: Causes(p.Causes)}
		if p.First != nil {
			failure.Text = strings.Join(slices.Concat(p.First.Story, p.First.Lanes), "\n")
		}
		s.add(decided(string(p.Name), p.Verdict, failure, p.Note))
		listed = listed || p.Verdict == checker.Fail || p.Verdict == checker.Inconclusive
	}
	if result.Verdict == checker.Inconclusive && !listed { // for another reason than a property
		s.add(junitCase{Name: "run", Skipped: &junitMessage{Message: "inconclusive: " + strings.Join(result.Notes, "; ")}})
	}
	s.gates(result.Gates)
	return writeJUnit(w, s)
}

// SuiteJUnit writes a suite as one JUnit suite per cell, with a case for each of its properties.
func SuiteJUnit(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	all := make([]junitSuite, len(suite.Cells))
	for i, c := range suite.Cells {
		all[i] = newJUnitSuite(c.Lock, c.Scenario, c.Duration, suite.Start)
		all[i].Properties = []junitProperty{{"server", suite.Server}, {"seed", fmt.Sprint(suite.Seed)}, {"expected", c.Expected}, {"observed", c.Observed}}
		if c.Observed == results.NothingObserved {
			all[i].add(junitCase{Name: "run", Error: &junitMessage{Message: "no verdict: " + c.Why}})
			continue
		}
		wrong, listed := unlike(c), len(c.Properties) > 0 && c.Verdict == checker.Pass
		for _, name := range slices.Sorted(maps.Keys(c.Properties)) {
			one := junitCase{Name: string(name)}
			switch v := c.Properties[name]; {
			case c.Verdict == checker.NotApplicable:
				continue
			case c.Verdict == checker.Fail && wrong[name] != "":
				one.Failure, listed = &junitMessage{Message: wrong[name]}, true
			case v == checker.Inconclusive:
				one.Skipped, listed = &junitMessage{Message: "inconclusive: " + c.Why}, listed || c.Verdict == checker.Inconclusive
			case v == checker.NotApplicable:
				one.Skipped = &junitMessage{Message: "n/a"}
			}
			all[i].add(one)
		}
		if !listed { // no property explains the verdict
			failure := junitMessage{Message: c.Why, Text: "expected " + c.Expected + ", observed " + c.Observed}
			all[i].add(decided("expectation", c.Verdict, failure, c.Why))
		}
	}
	return writeJUnit(w, all...)
}

// BenchJUnit writes a case for the safety of each lock in each setting, and one for each gate.
func BenchJUnit(w io.Writer, b results.Bench) error {
	b = Clean(b)
	s := newJUnitSuite("bench", b.Server, b.Duration, time.Time{})
	for _, c := range b.Cells {
		one := junitCase{Name: c.Lock + ", " + c.Setting.String()}
		switch c.Verdict {
		case checker.Fail:
			var broken []string
			for _, br := range c.Breaks {
				broken = append(broken, fmt.Sprintf("%s broken by %s", br.Property, Causes(br.Causes)))
			}
			one.Failure = &junitMessage{Message: strings.Join(broken, "; ")}
		case checker.Inconclusive, checker.NotApplicable:
			one.Skipped = &junitMessage{Message: string(c.Verdict) + ": " + c.Why}
		}
		s.add(one)
	}
	s.gates(b.Gates)
	return writeJUnit(w, s)
}

// newJUnitSuite makes a suite without cases. A stored suite has no start.
func newJUnitSuite(lock, scenario string, took time.Duration, start time.Time) junitSuite {
	s := junitSuite{Name: lock + " × " + scenario, junitCounts: junitCounts{Time: junitTime(took), took: took}}
	if !start.IsZero() {
		s.Timestamp = start.UTC().Format("2006-01-02T15:04:05")
	}
	return s
}

func junitTime(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// add adds a case. Its class is "lockbench.<lock>.<scenario>", as most viewers fold at dots.
func (s *junitSuite) add(c junitCase) {
	lock, scenario, _ := strings.Cut(s.Name, " × ")
	dotless := strings.NewReplacer(".", "_")
	c.Class, c.Time = "lockbench."+dotless.Replace(lock)+"."+dotless.Replace(scenario), "0.000"
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func (s *junitSuite) gates(all []results.GateResult) {
	for _, g := range all {
		s.add(decided(strings.TrimSpace("gate "+g.Gate+" "+g.Lock+" "+g.Setting), g.Verdict, junitMessage{Message: "measured " + value(g.Value, g.Unit)}, g.Why))
	}
}

// decided returns the case of a verdict: a failure, or skipped because of why.
func decided(name string, v checker.Result, failure junitMessage, why string) junitCase {
	c := junitCase{Name: name}
	switch v {
	case checker.Fail:
		c.Failure = &failure
	case checker.Inconclusive:
		c.Skipped = &junitMessage{Message: "inconclusive: " + why}
	case checker.NotApplicable:
		c.Skipped = &junitMessage{Message: strings.TrimSuffix("n/a: "+why, ": ")}
	}
	return c
}

// unlike returns how a cell's properties differ from the expectation. A planted bug may break more
// than expected.
func unlike(c results.Cell) map[verdicts.Property]string {
	want, seen := verdicts.ParseExpectation(c.Expected), c.Breaks()
	out := map[verdicts.Property]string{}
	for _, w := range want.Breaks {
		if !slices.ContainsFunc(seen, w.Covers) {
			out[w.Property] = w.String() + " was expected and not observed"
		}
	}
	for _, o := range seen {
		if !c.Planted && !slices.ContainsFunc(slices.Concat(want.Breaks, want.May), func(w verdicts.Break) bool { return w.Covers(o) }) {
			out[o.Property] = o.String() + " is not expected"
		}
	}
	return out
}

func writeJUnit(w io.Writer, suites ...junitSuite) error {
	root := struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []junitSuite `xml:"testsuite"`
	}{Name: "lockbench", Suites: suites}
	for _, s := range suites {
		root.Tests, root.Failures, root.Errors = root.Tests+s.Tests, root.Failures+s.Failures, root.Errors+s.Errors
		root.Skipped, root.took = root.Skipped+s.Skipped, root.took+s.took
	}
	root.Time = junitTime(root.took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(root); err != nil {
		return fmt.Errorf("junit: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}
