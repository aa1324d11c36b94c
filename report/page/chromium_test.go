package page

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

//go:embed testdata/probe.js
var probe string

// seen is what a browser made of a page.
type seen struct {
	Errors, Requests, Overlaps []string
	Texts, Wide, Svgs          int
	Zoomed                     bool
	Stepped                    string
	dom                        string
}

// browser finds Chromium. Without it the test is skipped, unless LOCKBENCH_REQUIRE names it.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if strings.Contains(os.Getenv("LOCKBENCH_REQUIRE"), "chromium") {
		t.Fatal("LOCKBENCH_REQUIRE names chromium, and it is not installed")
	}
	t.Skip("chromium is not installed")
	return ""
}

// browse opens a page in a window of a width, with the probe in it. The policy allows the probe besides what it allows anyway.
func browse(t *testing.T, page string, width int, dark bool) seen {
	t.Helper()
	program := browser(t)
	page = strings.Replace(page, "script-src '", "script-src '"+digestOf(probe)+"' '", 1)
	page = strings.Replace(page, "<style>", "<script>"+probe+"</script><style>", 1)
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	must(t, os.WriteFile(file, []byte(page), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	scheme := map[bool]string{true: "0", false: "1"}[dark]
	c := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--enable-logging=stderr", "--hide-scrollbars", fmt.Sprintf("--window-size=%d,900", width), "--blink-settings=preferredColorScheme="+scheme,
		"--virtual-time-budget=5000", "--dump-dom", "file://"+file)
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	c.WaitDelay = 5 * time.Second
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	var s seen
	s.dom = out.String()
	_, rest, ok := strings.Cut(s.dom, `<pre id="probe">`)
	text, _, _ := strings.Cut(rest, "</pre>")
	if !ok {
		t.Fatalf("the probe wrote nothing\n%s\n%.2000s", log.String(), s.dom)
	}
	must(t, json.Unmarshal([]byte(html.UnescapeString(text)), &s))
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			s.Errors = append(s.Errors, strings.TrimSpace(line))
		}
	}
	return s
}

// well complains of all that is not well on a page.
func (s seen) well(t *testing.T, texts int) {
	t.Helper()
	if len(s.Errors)+len(s.Requests)+len(s.Overlaps) > 0 {
		t.Errorf("errors %q\nrequests %q\ntexts over each other %q", s.Errors, s.Requests, s.Overlaps)
	}
	if s.Wide > 0 {
		t.Errorf("the page is %d pixels wider than its window", s.Wide)
	}
	if s.Texts < texts {
		t.Errorf("%d texts are shown, want %d at least", s.Texts, texts)
	}
}

func render(t testing.TB, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must(t, write(&b))
	return b.String()
}

// TestPagesInABrowser: no error, no request, nothing over each other and nothing beside the window, whatever its width; the picture can be zoomed and
// stepped through with keys.
func TestPagesInABrowser(t *testing.T) {
	browser(t)
	run := aRun(t, "", 200)
	suite, bench := aSuite(""), aBench("")
	pages := map[string]func(io.Writer) error{
		"run":   func(w io.Writer) error { return Run(w, run, ".") },
		"suite": func(w io.Writer) error { return Suite(w, suite, ".", ".") },
		"bench": func(w io.Writer) error { return Bench(w, bench) },
		"index": func(w io.Writer) error {
			return Index(w, []Entry{{Kind: "run", What: "token × steady", Name: "a b?c#d"}})
		},
		"hostile": func(w io.Writer) error { return Run(w, aRun(t, hostile, 30), ".") },
	}
	for name, write := range pages {
		page := render(t, write)
		for i, width := range []int{390, 800, 1600} {
			if i > 0 && (name == "index" || name == "hostile") {
				continue
			}
			t.Run(fmt.Sprintf("%s-%d", name, width), func(t *testing.T) {
				s := browse(t, page, width, i%2 == 0)
				s.well(t, map[string]int{"index": 5}[name])
				if name == "run" && (s.Svgs < 5 || !s.Zoomed || s.Stepped == "" || strings.HasPrefix(s.Stepped, "Point at")) {
					t.Errorf("%d drawings, zoomed: %v, stepped to %q", s.Svgs, s.Zoomed, s.Stepped)
				}
				if name == "bench" && s.Svgs == 0 {
					t.Error("no curve is drawn")
				}
				if strings.Contains(s.dom, "<title>pwned") {
					t.Error("a script of the record's was run")
				}
			})
		}
	}
}

// TestTheProbeSees keeps the test above honest: a page with each fault is found out.
func TestTheProbeSees(t *testing.T) {
	browser(t)
	page := render(t, func(w io.Writer) error { return Index(w, nil) })
	bad := strings.Replace(page, "</main>", `<svg width="300" height="30"><text x="0" y="20">one text over</text><text x="5" y="20">another text</text></svg>
		<img src="http://192.0.2.1/x.png" alt=""><div class="plot"></div><table><tbody><tr><td style="min-width:3000px">wide</td></tr></tbody></table><p><button onclick="nothing()">b</button></p></main>`, 1)
	bad = strings.Replace(bad, "table { border-collapse", "table { min-width: 3000px; border-collapse", 1)
	bad = strings.Replace(bad, digestOf(style), digestOf(strings.Replace(style, "table { border-collapse", "table { min-width: 3000px; border-collapse", 1)), 1)
	s := browse(t, bad, 390, false)
	if len(s.Overlaps) == 0 || len(s.Errors) == 0 || s.Wide < 1000 {
		t.Errorf("not seen: %+v", s)
	}
}

// TestNothingIsRaw: what a record holds is text, wherever it stands.
func TestNothingIsRaw(t *testing.T) {
	run, suite, bench := aRun(t, hostile, 30), aSuite(hostile), aBench(hostile)
	for name, write := range map[string]func(io.Writer) error{
		"run":   func(w io.Writer) error { return Run(w, run, ".") },
		"suite": func(w io.Writer) error { return Suite(w, suite, ".", ".") },
		"bench": func(w io.Writer) error { return Bench(w, bench) },
		"index": func(w io.Writer) error { return Index(w, []Entry{{What: hostile, Name: hostile, Server: hostile}}) },
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
				t.Error("the name is not on the page: nothing was tested")
			}
		})
	}
}

// TestPagesStaySmall: what a page shows of a long run is summed up or cut, so that its size does not follow the run's. LOCKBENCH_SOAK is how many
// rounds the long one has; 3,000,000 are ten million operations.
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

// TestPageOfARunWithoutAResult: a run that was killed has a page, too, and it says so.
func TestPageOfARunWithoutAResult(t *testing.T) {
	d := aRun(t, "", 20)
	must(t, os.Remove(d.File(results.ResultFile)))
	must(t, os.Remove(d.File(results.LatencyLog)))
	must(t, os.Remove(d.File(results.HistoryFile)))
	page := render(t, func(w io.Writer) error { return Run(w, d, "") })
	for _, want := range []string{"INCONCLUSIVE", "This run was not judged", "The end of the history is missing"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}
