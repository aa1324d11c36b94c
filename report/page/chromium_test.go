package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed testdata/probe.js
var probe string

// layout is the probe's measurement of a page in a window.
type layout struct {
	Overlaps          []string
	Texts, Wide, Svgs int
}

// well reports errors of a layout.
func (l layout) well(t *testing.T, texts int) {
	t.Helper()
	if len(l.Overlaps) > 0 {
		t.Errorf("texts overlap: %q", l.Overlaps)
	}
	if l.Wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", l.Wide)
	}
	if l.Texts < texts {
		t.Errorf("%d texts are shown, want %d at least", l.Texts, texts)
	}
}

// used is the effect of a page's keys and buttons.
type used struct {
	Zoomed         bool
	Stepped, Title string
	Errors         []string
}

func render(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must(t, write(&b))
	return b.String()
}

// widths of windows: a phone, a tablet, a laptop, and the widest that the pages are made for.
var widths = []int{390, 768, 1280, 1600}

// TestPagesInABrowser: at every width a page has no errors, no requests, no overlapping texts and
// nothing outside the window; keys zoom and step through the picture. LOCKBENCH_PICTURES names a
// directory for screenshots.
func TestPagesInABrowser(t *testing.T) {
	browser := startBrowser(t)
	run, suite, bench := aRun(t, "", 200), aSuite(""), aBench("")
	for _, row := range []struct {
		name                string
		write               func(io.Writer) error
		texts, svgs, widths int
	}{
		{"run", func(w io.Writer) error { return Run(w, run, ".") }, 100, 5, len(widths)},
		{"suite", func(w io.Writer) error { return Suite(w, suite, ".", ".") }, 20, 0, len(widths)},
		{"bench", func(w io.Writer) error { return Bench(w, bench) }, 50, 1, len(widths)},
		{"index", func(w io.Writer) error {
			return Index(w, []Entry{{Kind: "run", What: "token × steady", Lock: "token", Dir: "runs/a b?c#d"}})
		}, 5, 0, 2},
		{"comparison", func(w io.Writer) error { return Comparison(w, aComparison("")) }, 20, 0, len(widths)},
		// A hostile name must not run as a script.
		{"hostile", func(w io.Writer) error { return Run(w, aRun(t, hostile, 30), ".") }, 50, 1, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := browser.open(t, saved(t, render(t, row.write)))
			defer p.close()
			for _, width := range widths[:row.widths] {
				t.Run(strconv.Itoa(width), func(t *testing.T) {
					l := p.fits(t, width, row.texts)
					if l.Svgs < row.svgs {
						t.Errorf("%d drawings, want %d at least", l.Svgs, row.svgs)
					}
				})
			}
			u := p.use(t)
			if row.name == "run" && (!u.Zoomed || u.Stepped == "" || strings.HasPrefix(u.Stepped, "Point at")) {
				t.Errorf("zoomed: %v, stepped to %q", u.Zoomed, u.Stepped)
			}
			if strings.HasPrefix(u.Title, "pwned") {
				t.Error("a script from the record ran")
			}
		})
	}
}

// saved writes a page to a file of the test.
func saved(t *testing.T, page string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(page), 0o600))
	return file
}

// fits checks the layout in a window, light and dark.
func (p *tab) fits(t *testing.T, width, texts int) (l layout) {
	t.Helper()
	for _, scheme := range []string{"light", "dark"} {
		p.resize(width, scheme)
		p.ask("probe.layout()", &l)
		l.well(t, texts)
		if dir := os.Getenv("LOCKBENCH_PICTURES"); dir != "" {
			name := fmt.Sprintf("%s-%s.png", strings.ReplaceAll(t.Name(), "/", "-"), scheme)
			must(t, os.WriteFile(filepath.Join(dir, name), p.picture(width), 0o600))
		}
	}
	return l
}

// use presses all keys and buttons, and reports every error and request since the page was opened.
func (p *tab) use(t *testing.T) (u used) {
	t.Helper()
	p.ask("probe.use()", &u)
	errs, requests := p.complaints()
	if errs = append(errs, u.Errors...); len(errs)+len(requests) > 0 {
		t.Errorf("errors %q\nrequests %q", errs, requests)
	}
	return u
}

// TestProbeFindsErrors: the probe of the test above finds each kind of error.
func TestProbeFindsErrors(t *testing.T) {
	browser := startBrowser(t)
	page := render(t, func(w io.Writer) error { return Index(w, nil) })
	wide := strings.Replace(style, "table { border-collapse", "table { min-width: 3000px; border-collapse", 1)
	page = strings.NewReplacer(style, wide, digestOf(style), digestOf(wide),
		"</main>", `<svg width="300" height="30"><text x="0" y="20">one text over</text><text x="5" y="20">another text</text></svg>
			<img src="http://192.0.2.1/x.png" alt=""><table><tbody><tr><td>wide</td></tr></tbody></table><p><button onclick="nothing()">b</button></p></main>`).Replace(page)
	p := browser.open(t, saved(t, page))
	defer p.close()
	var l layout
	var u used
	p.resize(390, "light")
	p.ask("probe.layout()", &l)
	p.ask("probe.use()", &u)
	errs, requests := p.complaints()
	if len(l.Overlaps) == 0 || l.Wide < 1000 || len(errs) == 0 || len(requests) == 0 || len(u.Errors) == 0 {
		t.Errorf("not found: %+v %+v %q %q", l, u, errs, requests)
	}
}

// TestNothingIsRaw: strings of a record appear on the page only as text.
func TestNothingIsRaw(t *testing.T) {
	run, suite, bench := aRun(t, hostile, 30), aSuite(hostile), aBench(hostile)
	for name, write := range map[string]func(io.Writer) error{
		"run":        func(w io.Writer) error { return Run(w, run, ".") },
		"suite":      func(w io.Writer) error { return Suite(w, suite, ".", ".") },
		"bench":      func(w io.Writer) error { return Bench(w, bench) },
		"comparison": func(w io.Writer) error { return Comparison(w, aComparison(hostile)) },
		"index":      func(w io.Writer) error { return Index(w, []Entry{{What: hostile, Dir: hostile, Server: hostile}}) },
	} {
		t.Run(name, func(t *testing.T) {
			page := render(t, write)
			for _, bad := range []string{"\x1b", "\u202e", "<img", "<script>document", "onerror=alert(1)>"} {
				if strings.Contains(page, bad) {
					i := strings.Index(page, bad)
					t.Errorf("%q is on the page: …%q…", bad, page[max(0, i-100):min(len(page), i+100)])
				}
			}
			if n := strings.Count(page, "<script>"); n != 1 {
				t.Errorf("%d scripts, want ours alone", n)
			}
			if !strings.Contains(page, "evil") {
				t.Error("the name is not on the page, so the test checks nothing")
			}
		})
	}
}

// TestPagesStaySmall: the size of a page does not grow with the run. LOCKBENCH_SOAK is the number
// of rounds of the long run; 3,000,000 are ten million operations.
func TestPagesStaySmall(t *testing.T) {
	long := 30_000
	if n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK")); err == nil && n > long {
		long = n
	}
	size := func(rounds int) int {
		d := aRun(t, "", rounds)
		return len(render(t, func(w io.Writer) error { return Run(w, d, ".") }))
	}
	few, many := size(3000), size(long)
	t.Logf("%d bytes for 3,000 rounds, %d for %d", few, many, long)
	if many > 5e6 || float64(many) > 1.2*float64(few) {
		t.Errorf("%d bytes for 3,000 rounds, %d for %d", few, many, long)
	}
}

// TestPageOfARunWithoutAResult: the page of a killed run says that it was not judged.
func TestPageOfARunWithoutAResult(t *testing.T) {
	d := aRun(t, "", 20)
	must(t, os.Remove(d.File(results.ResultFile)))
	must(t, os.Remove(d.File(results.LatencyLog)))
	must(t, os.Remove(d.File(results.HistoryFile)))
	page := render(t, func(w io.Writer) error { return Run(w, d, "") })
	holds(t, page, "INCONCLUSIVE", "This run was not judged", "The end of the history is missing")
}

// TestTheMatrixIsWhole: a laptop shows every scenario of a suite, and a phone those that people ask
// about; a narrower window says that its table scrolls.
func TestTheMatrixIsWhole(t *testing.T) {
	browser := startBrowser(t)
	suite := aSuite("")
	for _, q := range report.Questions() {
		suite.Cells = append(suite.Cells, results.Cell{Lock: "rueidislock-normalised", Scenario: q.Scenario, Observed: "safe", Verdict: checker.Pass})
	}
	p := browser.open(t, saved(t, render(t, func(w io.Writer) error { return Suite(w, suite, ".", ".") })))
	defer p.close()
	for _, row := range []struct {
		width   int
		class   string
		scrolls bool
	}{{1280, "all", false}, {1600, "all", false}, {800, "all", true}, {390, "asked", false}} {
		var got struct {
			Hidden int
			Hint   bool
		}
		p.resize(row.width, "light")
		p.ask(fmt.Sprintf(`({Hidden: document.querySelector('.matrix.%[1]s').scrollWidth - document.querySelector('.matrix.%[1]s').parentElement.clientWidth,
			Hint: [...document.querySelectorAll('.hint.%[1]s')].some(h => getComputedStyle(h).display !== 'none')})`, row.class), &got)
		if got.Hidden > 0 != row.scrolls || got.Hint != row.scrolls {
			t.Errorf("%d pixels wide, %s: %d are out of sight, told: %v; want that it scrolls: %v", row.width, row.class, got.Hidden, got.Hint, row.scrolls)
		}
	}
}

// TestTheWorstIsOpen: where the first sentence tells of another violation than the first one, its
// story is open.
func TestTheWorstIsOpen(t *testing.T) {
	d := aRun(t, "", 30)
	_, r, err := d.Load()
	must(t, err)
	r.Properties[1].Verdict, r.Properties[1].Violations = checker.Fail, 1 // mutual exclusion
	r.Properties[1].First = &checker.Violation{Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock, At: 1 << 40, Story: []string{"both held it"}}
	must(t, d.SaveResult(*r))
	page := render(t, func(w io.Writer) error { return Run(w, d, "") })
	holds(t, page, "How it broke first", "<details open><summary>mutual-exclusion broken by mis-unlock", "the lock told two clients at once")
}

// TestSuiteShowsHowACellBroke: the link of a cell that broke shows its story and its timeline on
// the same page, and a name from a record does no harm there.
func TestSuiteShowsHowACellBroke(t *testing.T) {
	v := checker.Violation{Property: verdicts.MutualExclusion, Cause: verdicts.MisUnlock, At: 30 * ms, Clients: []string{"c1", "c2"}, Key: hostile, Story: []string{"both held " + hostile}}
	grant := func(id uint64, client string, at int64) history.Operation {
		return history.Operation{ID: id, Client: client, Op: history.Acquire, Key: hostile, Call: at, Return: at + ms, Outcome: history.OK, Token: client}
	}
	ops := []history.Operation{grant(1, "c1", 10*ms), grant(2, "c2", 29*ms)}
	header := history.Header{Kind: history.Mutex, Lease: 100 * ms, Permits: 1}
	holds, err := checker.Holds(header, ops, nil)
	must(t, err)
	v.Around = &checker.Surroundings{Header: header, Operations: ops, Holds: holds}
	commands := []history.Command{{Client: "c1", Sent: 10 * ms, Replied: 11 * ms, Name: "SET", Args: []string{hostile}, Reply: "OK"}}
	scene := NewScene(&v, "a/lock", "stall", commands)
	dir := t.TempDir()
	must(t, results.SaveFile(filepath.Join(dir, results.ScenesFile), func(w io.Writer) error { return WriteScenes(w, []Scene{scene}) }))
	s := results.Suite{Server: "sim", Cells: []results.Cell{{Lock: "a/lock", Scenario: "stall", Verdict: checker.Pass, Observed: "mutual-exclusion/mis-unlock"},
		{Lock: "a/lock", Scenario: "steady", Verdict: checker.Pass, Observed: "safe"}}}
	page := render(t, func(w io.Writer) error { return Suite(w, s, dir, "") })
	p := startBrowser(t).open(t, saved(t, page))
	defer p.close()
	var got struct {
		Links       int
		Before      bool
		Title, Said string
		Drawn       int
	}
	for _, width := range []int{390, 1280} {
		p.resize(width, "dark")
		p.ask(`(async () => {
			const links = document.querySelectorAll('.matrix a'), scene = document.getElementById('scene'), before = scene.hidden;
			links[0].click();
			for (let i = 0; i < 100 && scene.hidden; i++) await new Promise(r => setTimeout(r, 20));
			return {Links: links.length, Before: before, Title: scene.querySelector('h2').textContent, Said: scene.querySelector('.story').textContent,
				Drawn: scene.querySelectorAll('svg rect.f-blue').length};
		})()`, &got)
		if got.Links != 1 || got.Title != "a/lock × stall" || !strings.HasPrefix(got.Said, "both held evil") || got.Drawn < 2 {
			t.Errorf("%d pixels wide: %+v", width, got)
		}
	}
	if errs, requests := p.complaints(); len(errs)+len(requests) > 0 {
		t.Errorf("errors %q\nrequests %q", errs, requests)
	}
}
