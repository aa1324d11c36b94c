package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
)

// aFolder is a folder of runs with one run, a secret beside it, and a link that leads out of it.
func aFolder(t *testing.T) string {
	t.Helper()
	top := t.TempDir()
	base := filepath.Join(top, "runs")
	d, err := results.Create(base, results.Name(time.Unix(100, 0), "a", "steady", "token"), false)
	must(t, err)
	must(t, d.SaveRun(results.Run{Lock: "token", Scenario: "steady", Server: "sim", Phase: results.Started, Failure: "it was killed"}))
	for name, err := range map[string]error{
		"secret": os.WriteFile(filepath.Join(top, "secret"), []byte("the secret"), 0o600), "link": os.Symlink(filepath.Join(top, "secret"), filepath.Join(d.Path(), "link.txt")),
		"page": d.Save("violations/001.txt", []byte("a story <b>")), "hidden": os.WriteFile(filepath.Join(d.Path(), ".partial"), []byte("half"), 0o600),
	} {
		if err != nil {
			t.Fatal(name, err)
		}
	}
	return base
}

// TestFoldersWithHostileNames: the name of a folder, too, may come from somebody else.
func TestFoldersWithHostileNames(t *testing.T) {
	base := aFolder(t)
	runs, err := filepath.Glob(base + "/steady-*")
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	must(t, os.Rename(runs[0], base+"/evil\x1b[31m\u202e"))
	for _, args := range [][]string{{"ls"}, {"prune", "--keep", "0", "--dry-run"}, {"report", base + "/evil\x1b[31m\u202e", "-f", "junit"}, {"prune", "--keep", "0"}} {
		w := newWorld("")
		if args[0] != "report" {
			args = append(args, "--out", base)
		}
		w.call(t, args...)
		if out := w.out.String() + w.err.String(); strings.ContainsAny(out, "\x1b\u202e") || args[0] != "report" && !strings.Contains(out, `evil\x1b[31m\u202e`) {
			t.Errorf("%q: %q", args, out)
		}
	}
}

func TestServe(t *testing.T) {
	b, err := newBrowser(aFolder(t), 8080)
	must(t, err)
	defer b.root.Close()
	const run = "/steady-token-19700101T000140Z-a/"
	for _, tt := range []struct {
		name, method, host, path string
		code                     int
		has                      string
	}{
		{"the index", "GET", "127.0.0.1:8080", "/", 200, "token × steady"},
		{"the choice of a lock", "GET", "127.0.0.1:8080", "/", 200, `<select data-choose="lock"><option value="">all</option><option>token</option></select>`},
		{"by the name of the machine", "GET", "localhost:8080", "/", 200, "token × steady"},
		{"by the other loopback address", "HEAD", "[::1]:8080", "/", 200, ""},
		{"under a name that somebody had lead here", "GET", "evil.example:8080", "/", 421, ""},
		{"under another port", "GET", "127.0.0.1:80", "/", 421, ""},
		{"without a name", "GET", "", "/", 421, ""},
		{"a page that was not made yet", "GET", "127.0.0.1:8080", run + "report.html", 200, "it was killed"},
		{"a file of a run", "GET", "127.0.0.1:8080", run + "run.json", 200, `"lockbench/run/v1"`},
		{"a file in a folder", "GET", "127.0.0.1:8080", run + "violations/001.txt", 200, "a story"},
		{"what is not there", "GET", "127.0.0.1:8080", run + "nothing.txt", 404, ""},
		{"no run", "GET", "127.0.0.1:8080", "/nothing/report.html", 404, ""},
		{"a folder", "GET", "127.0.0.1:8080", run, 404, ""},
		{"out of the folder", "GET", "127.0.0.1:8080", "/../secret", 404, ""},
		{"out of the folder, escaped", "GET", "127.0.0.1:8080", "/%2e%2e/secret", 404, ""},
		{"out of the folder, escaped twice over", "GET", "127.0.0.1:8080", run + "..%2f..%2fsecret", 404, ""},
		{"by an absolute path", "GET", "127.0.0.1:8080", "//etc/passwd", 404, ""},
		{"along a link that leads out", "GET", "127.0.0.1:8080", run + "link.txt", 404, ""},
		{"along a link to the report of elsewhere", "GET", "127.0.0.1:8080", "/../report.html", 404, ""},
		{"a file that is being written", "GET", "127.0.0.1:8080", run + ".partial", 404, ""},
		{"to change something", "POST", "127.0.0.1:8080", "/", 405, ""},
		{"to delete something", "DELETE", "127.0.0.1:8080", run + "run.json", 405, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequest(tt.method, "http://127.0.0.1:8080/", nil)
			u := *r.URL
			// as the server takes it apart
			u.Path, u.RawPath = strings.NewReplacer("%2e", ".", "%2f", "/").Replace(tt.path), tt.path
			r.URL, r.Host = &u, tt.host
			w := httptest.NewRecorder()
			b.ServeHTTP(w, r)
			body := w.Body.String()
			if w.Code != tt.code || !strings.Contains(body, tt.has) || strings.Contains(body, "the secret") || strings.Contains(body, "root:") {
				t.Errorf("%d, want %d with %q:\n%.400s", w.Code, tt.code, tt.has, body)
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Error("the type of what is sent may be guessed")
			}
			if strings.HasSuffix(tt.path, ".txt") && w.Code == 200 && !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
				t.Errorf("a text is sent as %s", w.Header().Get("Content-Type"))
			}
		})
	}
}

// TestServeUntilInterrupted: it says where it listens, answers there, and ends with the first
// interrupt as a success.
func TestServeUntilInterrupted(t *testing.T) {
	w := newWorld("")
	base := aFolder(t)
	ended := make(chan int, 1)
	go func() { ended <- w.call(t, "serve", "--out", base) }()
	var url string
	for end := time.Now().Add(10 * time.Second); url == "" && time.Now().Before(end); time.Sleep(time.Millisecond) {
		url = strings.TrimSpace(w.out.String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	must(t, err)
	body, err := io.ReadAll(answer.Body)
	if answer.Body.Close() != nil || err != nil || !strings.Contains(string(body), "token × steady") {
		t.Errorf("%v\n%s", err, body)
	}
	w.signals <- os.Interrupt
	if code := <-ended; code != 0 || strings.Contains(w.err.String(), "judging") { // there is nothing to judge
		t.Errorf("exit code %d\n%s", code, w.err)
	}
}

// TestPruneSparesWhatIsInProgress: a run that a process writes is not deleted, and one that ended
// is, however it ended.
func TestPruneSparesWhatIsInProgress(t *testing.T) {
	base := t.TempDir()
	w := newWorld("")
	d, err := results.Create(base, results.Name(w.now(), "aaa", "steady", "token"), false)
	must(t, err)
	must(t, d.SaveRun(results.Run{ID: "aaa", Lock: "token", Scenario: "steady", Server: "sim", Start: w.now(), Phase: results.Started}))
	use, err := d.Hold()
	must(t, err)
	for _, row := range []struct {
		args []string
		says string
	}{
		{[]string{"ls"}, "in progress"},
		{[]string{"prune", "--keep", "0"}, "left alone " + d.Path() + ": in progress\ndeleted 0, kept 1\n"},
		{[]string{"prune", "--keep", "0", "-o", "json"}, `"why": "in progress"`},
	} {
		w := newWorld("")
		if code := execute(t.Context(), append(append([]string{"lockbench"}, row.args...), "--out", base), w.world); code != exitOK || !strings.Contains(w.out.String(), row.says) {
			t.Errorf("%v exits %d and says %q, want %q", row.args, code, w.out, row.says)
		}
	}
	must(t, use.Close())
	if code := execute(t.Context(), []string{"lockbench", "prune", "--keep", "0", "--out", base}, w.world); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat(d.Path()); err == nil {
		t.Error("a run that has ended was not deleted")
	}
}
