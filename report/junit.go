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

// JUnit has a suite of test cases for each lock × scenario and a case for each property:
//
//   - A violated property is a failure, unless the violation is expected.
//   - An inconclusive property is skipped, with the reason.
//   - A property that does not apply is skipped as "n/a".
//   - A run without a verdict is an error of the case "run".
type junitRoot struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property,omitempty"`
	Cases      []junitCase     `xml:"testcase"`
}

// junitCounts are the totals of a suite, or of all suites.
type junitCounts struct {
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     junitSeconds `xml:"time,attr"`
}

func (c *junitCounts) plus(more junitCounts) {
	c.Tests += more.Tests
	c.Failures += more.Failures
	c.Errors += more.Errors
	c.Skipped += more.Skipped
	c.Time += more.Time
}

// junitSeconds is a duration as JUnit writes it.
type junitSeconds time.Duration

// MarshalText returns seconds with three decimals.
func (s junitSeconds) MarshalText() ([]byte, error) { return []byte(junitTime(time.Duration(s))), nil }

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
	s := newJUnitSuite(run.Lock, run.Scenario+OtherWorkload(run.Workload), run.Duration)
	s.Timestamp = run.Start.UTC().Format("2006-01-02T15:04:05")
	s.Properties = []junitProperty{{"server", run.Server}, {"seed", fmt.Sprint(run.Seed)}, {"again", results.CommandLine(run.Argv)}}
	if result == nil {
		s.add(junitCase{Name: "run", Error: &junitMessage{Message: "no verdict: " + cmp.Or(run.Failure, "the run was not checked")}})
	} else {
		s.Properties[2].Value = result.Rerun
		s.judged(*result)
		s.gates(result.Gates)
	}
	return writeJUnit(w, s)
}

// SuiteJUnit writes a suite as one JUnit suite per cell.
func SuiteJUnit(w io.Writer, suite results.Suite) error {
	suite = Clean(suite)
	all := make([]junitSuite, len(suite.Cells))
	for i, c := range suite.Cells {
		all[i] = newJUnitSuite(c.Lock, c.Scenario, c.Duration)
		if !suite.Start.IsZero() {
			all[i].Timestamp = suite.Start.Format("2006-01-02T15:04:05")
		}
		all[i].Properties = []junitProperty{{"server", suite.Server}, {"seed", fmt.Sprint(suite.Seed)}, {"expected", c.Expected}, {"observed", c.Observed}}
		all[i].cell(c)
	}
	return writeJUnit(w, all...)
}

func newJUnitSuite(lock, scenario string, took time.Duration) junitSuite {
	return junitSuite{Name: lock + " × " + scenario, junitCounts: junitCounts{Time: junitSeconds(took)}}
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

// judged adds a case per property of a run, and the case "run" if the run is inconclusive for
// another reason.
func (s *junitSuite) judged(r results.Result) {
	listed := false
	for _, p := range r.Properties {
		s.add(decided(string(p.Name), p.Verdict, violated(p), p.Note))
		listed = listed || p.Verdict == checker.Fail || p.Verdict == checker.Inconclusive
	}
	if r.Verdict == checker.Inconclusive && !listed {
		s.add(junitCase{Name: "run", Skipped: &junitMessage{Message: "inconclusive: " + strings.Join(r.Notes, "; ")}})
	}
}

func violated(p checker.Property) junitMessage {
	m := junitMessage{Message: failure(p), Type: Causes(p.Causes)}
	if p.First != nil {
		m.Text = strings.Join(slices.Concat(p.First.Story, p.First.Lanes), "\n")
	}
	return m
}

// cell adds a case per property of a cell, and the case "expectation" if no property explains the
// verdict.
func (s *junitSuite) cell(c results.Cell) {
	if c.Observed == results.NothingObserved {
		s.add(junitCase{Name: "run", Error: &junitMessage{Message: "no verdict: " + c.Why}})
		return
	}
	whole := decided("expectation", c.Verdict, junitMessage{Message: c.Why, Text: "expected " + c.Expected + ", observed " + c.Observed}, c.Why)
	if c.Verdict == checker.NotApplicable {
		s.add(whole)
		return
	}
	wrong := unlike(c)
	listed := len(c.Properties) > 0 && c.Verdict == checker.Pass
	for _, name := range slices.Sorted(maps.Keys(c.Properties)) {
		one := junitCase{Name: string(name)}
		switch v := c.Properties[name]; {
		case c.Verdict == checker.Fail && wrong[name] != "":
			one.Failure, listed = &junitMessage{Message: wrong[name]}, true
		case v == checker.Inconclusive:
			one.Skipped, listed = &junitMessage{Message: "inconclusive: " + c.Why}, listed || c.Verdict == checker.Inconclusive
		case v == checker.NotApplicable:
			one.Skipped = &junitMessage{Message: "n/a"}
		}
		s.add(one)
	}
	if !listed {
		s.add(whole)
	}
}

// unlike returns how a cell's properties differ from the expectation. A planted bug may break more
// than expected.
func unlike(c results.Cell) map[verdicts.Property]string {
	must, may := pairs(c.Expected)
	seen, _ := pairs(c.Observed)
	out := map[verdicts.Property]string{}
	for _, want := range must {
		if !slices.ContainsFunc(seen, func(o string) bool { return covers(want, o) }) {
			out[propertyOf(want)] = want + " was expected and not observed"
		}
	}
	for _, o := range seen {
		if !c.Planted && !slices.ContainsFunc(slices.Concat(must, may), func(want string) bool { return covers(want, o) }) {
			out[propertyOf(o)] = o + " is not expected"
		}
	}
	return out
}

// pairs parses the text of an expectation or observation into required and optional property/cause
// pairs.
func pairs(text string) (must, may []string) {
	for _, word := range strings.Fields(text) {
		if optional, ok := strings.CutPrefix(word, "("); ok {
			may = append(may, strings.TrimSuffix(optional, ")"))
		} else if word != "safe" {
			must = append(must, word)
		}
	}
	return must, may
}

// covers reports whether an observed pair matches want, which may omit the cause.
func covers(want, observed string) bool {
	return observed == want || strings.HasPrefix(observed, want+"/")
}

func propertyOf(pair string) verdicts.Property {
	name, _, _ := strings.Cut(pair, "/")
	return verdicts.Property(name)
}

func writeJUnit(w io.Writer, suites ...junitSuite) error {
	root := junitRoot{Name: "lockbench", Suites: suites}
	for _, s := range suites {
		root.plus(s.junitCounts)
	}
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
