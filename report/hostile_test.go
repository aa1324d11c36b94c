package report_test

import (
	"maps"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/explored"
)

// hostile is a name that does harm if it is printed raw.
const hostile = "evil\x1b[2J\u009b2J</script><script>alert(1)</script>\u202e\n::error::%0A\x00]]>"

// filled returns a record with the hostile name in every string, key and element that it can have,
// so that a new field is tested as soon as it exists.
func filled[T any](change ...func(*T)) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), 0)
	for _, f := range change {
		f(&v)
	}
	return v
}

func fill(v reflect.Value, depth int) {
	if depth > 12 { // a type that contains itself
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(3)
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.SetUint(3)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, depth+1)
		fill(value, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	}
}

// TestHostileNames: no text of a record reaches a terminal, a log or a page raw.
func TestHostileNames(t *testing.T) {
	result := filled(func(r *results.Result) { r.Verdict = checker.Fail; r.Properties[0].Verdict = checker.Fail })
	suite := filled(func(s *results.Suite) {
		planted := s.Cells[0]
		s.Cells[0].Verdict, s.Cells[0].Planted, planted.Verdict = checker.Fail, false, checker.Fail
		s.Cells = append(s.Cells, planted)
	})
	bench := filled(func(b *results.Bench) { b.Cells[0].Verdict = checker.Fail })
	run := filled[results.Run]()
	plain := report.Style{}
	writers := forms(suite, hostile, bench, report.Kept{Dir: hostile, Page: hostile})
	maps.Copy(writers, map[string]func(*strings.Builder) error{
		"run": func(b *strings.Builder) error {
			return report.Run(b, result, report.Kept{Dir: hostile, Page: hostile}, plain)
		},
		"history": func(b *strings.Builder) error { return report.History(b, result, plain) },
		"violation": func(b *strings.Builder) error {
			return report.Violation(b, *filled[results.Result]().Properties[0].First)
		},
		"run.md":         func(b *strings.Builder) error { return report.RunMarkdown(b, result) },
		"run.xml":        func(b *strings.Builder) error { return report.RunJUnit(b, run, &result) },
		"failed.xml":     func(b *strings.Builder) error { return report.RunJUnit(b, run, nil) },
		"run.csv":        func(b *strings.Builder) error { return report.RunCSV(b, result) },
		"run.gha.json":   func(b *strings.Builder) error { return report.GitHubBenchmark(b, report.RunMeasures(result)) },
		"run.bmf.json":   func(b *strings.Builder) error { return report.Bencher(b, report.RunMeasures(result)) },
		"suite.bmf.json": func(b *strings.Builder) error { return report.Bencher(b, report.SuiteMeasures(suite)) },
		"compare":        func(b *strings.Builder) error { return report.Comparison(b, filled[results.Comparison](), plain) },
		"explore":        func(b *strings.Builder) error { return report.Explore(b, filled[explored.Exploration](), plain) },
		"replay":         func(b *strings.Builder) error { return report.Replayed(b, filled[results.Replay](), plain) },
		"repro":          func(b *strings.Builder) error { return report.Repro(b, filled[results.Repro](), plain) },
	})
	for name, write := range writers {
		t.Run(name, func(t *testing.T) {
			out := text(t, write)
			if !strings.Contains(out, "evil") {
				t.Errorf("the name is not in\n%q", out)
			}
			for _, bad := range []string{"\x1b", "\u009b", "\x00", "\u202e", " ::error::%0A", "\n::error::%0A"} {
				if strings.Contains(out, bad) {
					t.Errorf("%q is in\n%q", bad, out)
				}
			}
			// JSON has to
			if !strings.HasSuffix(name, ".json") && strings.Contains(out, `\\x1b`) {
				t.Errorf("escaped twice in\n%s", out)
			}
			// Markdown shows these as they are
			out = regexp.MustCompile("(?s)```.*?```|`[^`]*`").ReplaceAllString(out, "")
			if (strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".xml")) && strings.Contains(out, "<script>") {
				t.Errorf("a script is in\n%s", out)
			}
		})
	}
}

// TestCellsAreNoFormulas: a name that a spreadsheet would run as a formula is shown as text;
// numbers stay numbers.
func TestCellsAreNoFormulas(t *testing.T) {
	r := results.Result{Lock: "=HYPERLINK(1)", Scenario: "@SUM(A1)", Properties: []checker.Property{{Name: "-1+cmd", Verdict: checker.Pass, Violations: -3}}}
	want := strings.Join([]string{"lock,scenario,what,name,value,unit", "'=HYPERLINK(1),'@SUM(A1),verdict,run,,", "'=HYPERLINK(1),'@SUM(A1),property,'-1+cmd,pass,",
		"'=HYPERLINK(1),'@SUM(A1),violations,'-1+cmd,-3,", "'=HYPERLINK(1),'@SUM(A1),opportunities,'-1+cmd,0,", ""}, "\n")
	if got := text(t, func(b *strings.Builder) error { return report.RunCSV(b, r) }); !strings.HasPrefix(got, want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestLongNames: long names do not widen the lines.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("n", 300)
	r := results.Result{Lock: long, Scenario: long, Verdict: checker.Fail, Properties: []checker.Property{{Name: "mutual-exclusion", Verdict: checker.Fail,
		First: &checker.Violation{Property: "mutual-exclusion", Cause: "unknown", Clients: []string{long, long}, Key: long}}}}
	for line := range strings.Lines(text(t, func(b *strings.Builder) error { return report.History(b, r, report.Style{}) })) {
		if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
