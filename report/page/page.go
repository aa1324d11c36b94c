package page

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

//go:embed assets/page.css
var style string

//go:embed assets/page.js
var script string

//go:embed assets/*.html
var templates embed.FS

// data is the input of the script, and what the template of a page with charts shows of them.
type data struct {
	Charts []chart `json:"charts"`
	Lanes  *lanes  `json:"lanes,omitempty"`
	Scenes string  `json:"scenes,omitempty"` // of a suite's cells: JSON, compressed, in base64
}

// chart has lines over one axis.
type chart struct {
	ID      string      `json:"id"`
	Title   string      `json:"-"`
	About   string      `json:"-"` // for who cannot see it
	X       string      `json:"x"` // linear or log
	Y       string      `json:"y"`
	XFormat string      `json:"xformat"` // time, span, count, percentile, number
	YFormat string      `json:"yformat"`
	XRange  *[2]float64 `json:"xrange,omitempty"`
	Gap     float64     `json:"gap,omitempty"` // points further apart are not joined
	Series  []series    `json:"series"`
	Bands   []item      `json:"bands,omitempty"` // fault windows
	Marks   []item      `json:"marks,omitempty"` // violations
}

// chart adds a chart to the page, unless it has no points.
func (d *data) chart(c chart) {
	c.Series = slices.DeleteFunc(c.Series, func(s series) bool { return len(s.Points) == 0 })
	if len(c.Series) > 0 {
		d.Charts = append(d.Charts, c)
	}
}

// series is one line: points of x, y, and the interval of y if there is one. Cls is its colour and
// dash in the style sheet.
type series struct {
	Name   string      `json:"name"`
	Cls    string      `json:"cls"`
	Dot    bool        `json:"dot,omitempty"`
	Points [][]float64 `json:"points"`
}

// through returns the line through some points.
func (s series) through(points [][2]float64) series {
	for _, p := range points {
		s.Points = append(s.Points, p[:])
	}
	return s
}

// item is an interval, an instant, or a point in time, its description, and details that depend on
// the kind of item.
type item []any

// classes are the styles of lines, by colour and dash.
var classes = []string{"s-blue", "s-orange dash", "s-pink dots", "s-grey", "s-blue dash", "s-orange", "s-pink", "s-grey dash"}

// write writes a page: the body from a template, the data for the script, and a policy that forbids
// everything else.
func write(w io.Writer, title, body string, view any, d data) error {
	t, err := template.New("").Funcs(functions).ParseFS(templates, "assets/*.html")
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, body, view); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	values, err := json.Marshal(d) // escapes what could end a script element
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	policy := fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; img-src data:; base-uri 'none'; form-action 'none'", digestOf(style), digestOf(script))
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>%s</title><link rel="icon" href="data:,">
<style>%s</style></head>
<body>
%s
<script type="application/json" id="data">%s</script>
<script>%s</script>
</body></html>
`, policy, html.EscapeString(title), style, b.Bytes(), values, script)
	return err
}

// digestOf returns the digest of an inline text for the content security policy.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

var functions = template.FuncMap{
	"verdict": func(v checker.Result) string { return strings.ReplaceAll(string(v), "/", "") }, // its class
	"when":    func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") },
	"delta":   func(r results.ComparisonRow) string { return report.Delta(r, report.Style{}) },
	"dur":     func(d time.Duration) string { return report.Span(d) },
	"metric": func(name string) string {
		m, _ := results.FindMetric(name)
		return cmp.Or(m.Words, name)
	},
	"ending": endingClass, "outcome": outcomeAbout, "metrics": shownMetrics, "interval": interval, "knee": kneeText,
	"headline": report.Headline, "count": report.Count, "plural": report.Plural[int], "percent": report.Percent, "secs": report.Instant,
	"value": report.Quantity, "figure": report.Figure, "counted": report.Causes, "causes": report.PropertyCauses,
	"workload": report.OtherWorkload, "server": report.ServerOf, "damage": report.DamageText, "load": report.LoadText,
	"cause": report.CauseAbout, "property": report.PropertyAbout, "answer": report.BenchAnswer, "locks": report.LocksOf,
	"settings": report.BySetting, "safety": report.SafetyText, "caught": report.Caught, "unexpected": report.Unexpected, "summary": report.SuiteSummary, "meaning": report.SuiteMeaning,
}
