package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/verdicts"
)

// TestCheckKnowsWhatTheStoreHeld: a write that was answered and is not in the store at the end
// shows in no operation of the history, only in what the run found when its clients were done. A
// run that was killed has its recording instead of a history, and no such knowledge.
func TestCheckKnowsWhatTheStoreHeld(t *testing.T) {
	ops := []history.Operation{
		{ID: 1, Client: "c1", Op: history.Acquire, Key: "job", Call: 1, Return: 2, Outcome: history.OK, Token: "t1", ValidUntil: 1000},
		{ID: 2, Client: "c1", Op: history.Write, Key: "job", Call: 3, Return: 4, Outcome: history.OK, HasValue: true, Read: 0, Wrote: 5},
		{ID: 3, Client: "c1", Op: history.Release, Key: "job", Call: 5, Return: 6, Outcome: history.OK, Token: "t1"},
		{ID: 4, Client: "c2", Op: history.Acquire, Key: "job", Call: 7, Return: 8, Outcome: history.OK, Token: "t2", ValidUntil: 1000},
		{ID: 5, Client: "c2", Op: history.Release, Key: "job", Call: 9, Return: 10, Outcome: history.OK, Token: "t2"},
	}
	zero, five, seven := int64(0), int64(5), int64(7)
	const unrecorded = "the run was ended before anything that its clients did was recorded"
	for _, tt := range []struct {
		name  string
		final *int64
		save  saving
		code  int
		says  string
	}{
		{"it holds what was written", &five, saveHistory(ops), 0, "PASS"},
		{"the store lost what was written, which no lock can help", &zero, saveHistory(ops), 0, "5 of 5 updates are missing, the store holds 0"},
		{"what was written last is not in the file any more", &seven, cutHistory(ops), 3, "the end of the history is cut off"},
		{"nobody looked", nil, saveHistory(ops), 0, "PASS"},
		{"the run was killed", nil, saveRecording(ops), 3, "the end of the history is cut off"},
		{"killed before anything was done", nil, saveRecording(nil), 3, unrecorded},
		{"the machine stopped in the head of the recording", nil, cutRecording(20), 3, unrecorded},
		{"the machine stopped at its first byte", nil, cutRecording(0), 3, unrecorded},
		{"killed before its clients began", nil, func(*results.Dir, history.Header) error { return nil }, 3, unrecorded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := results.Create(t.TempDir(), results.Name(time.Unix(0, 0), "x", "steady", "token"), false)
			must(t, err)
			run := results.Run{Lock: "token", Scenario: "steady", Phase: results.Driven}
			if tt.final != nil {
				run.Store = map[string]checker.StoreEnds{"job": {Initial: &zero, Final: tt.final}}
			}
			must(t, d.SaveRun(run))
			must(t, tt.save(d, history.Header{Lock: "token", Kind: history.Mutex, Lease: 1000, Permits: 1}))
			for _, path := range []string{d.Path(), d.File(results.HistoryFile)} {
				w := newWorld(checker.Pass)
				w.exits(t, tt.code, "check", path)
				// wherever its lines are broken
				want(t, "stdout", strings.Join(strings.Fields(w.out.String()), " "), tt.says)
			}
		})
	}
}

// saving puts into a run directory what a run was stopped at.
type saving func(*results.Dir, history.Header) error

// cutRecording saves so many bytes of the head of a recording, and nothing behind.
func cutRecording(size int) saving {
	return func(d *results.Dir, h history.Header) error {
		return d.Save(results.RecordingFile, history.RecordingHead(h)[:size])
	}
}

func saveHistory(ops []history.Operation) saving {
	return func(d *results.Dir, h history.Header) error {
		return d.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, h, ops) })
	}
}

// cutHistory saves a history without the end of its last line.
func cutHistory(ops []history.Operation) saving {
	return func(d *results.Dir, h history.Header) error {
		var text bytes.Buffer
		out := history.NewWriter(&text, h)
		for i := range ops {
			if err := out.Write(&ops[i]); err != nil {
				return err
			}
		}
		if err := out.Close(); err != nil {
			return err
		}
		return d.Save(results.HistoryFile, text.Bytes()[:text.Len()-5])
	}
}

func saveRecording(ops []history.Operation) saving {
	return func(d *results.Dir, h history.Header) error {
		out, err := d.Begin(results.RecordingFile, history.RecordingHead(h))
		if err != nil {
			return err
		}
		defer out.Close()
		r := &history.Recorder{}
		c1, c2 := r.Client("c1"), r.Client("c2")
		for _, op := range ops {
			map[string]*history.ClientRecorder{"c1": c1, "c2": c2}[op.Client].Add(op)
		}
		return r.Spill(out, math.MaxInt64)
	}
}

// TestDerivedEffectsAreNoRecord: what was worked out from the commands beside it says nothing more
// than they do, and may stop in the middle; what a server logged does.
func TestDerivedEffectsAreNoRecord(t *testing.T) {
	for source, want := range map[string]int{
		history.Derived: 0, history.AppendOnly: 1,
		"derived: the recorded commands in their order, executed once; a node's end where a reply differs": 0, // as before
	} {
		d, err := results.Create(t.TempDir(), results.Name(time.Unix(0, 0), "x", "steady", "token"), false)
		must(t, err)
		events := []history.Executed{{At: 5, Effect: history.Expired, Changes: []history.DataChange{{Key: "job", Before: &history.Datum{Value: "a"}}}}}
		must(t, d.SaveFunc(results.ServerFile, func(w io.Writer) error { return history.WriteServer(w, source, events) }))
		rec, err := beside(t.Context(), openedHistory{path: d.File(results.HistoryFile)})
		if err != nil || len(rec.Effects) != want {
			t.Errorf("%s: %d effects, %v; want %d", source, len(rec.Effects), err, want)
		}
	}
}

// TestCheckAgreesWithTheRun: the stored record of a run has the violations and causes that the run
// found in it.
func TestCheckAgreesWithTheRun(t *testing.T) {
	cells := []struct{ lock, scenario, seed string }{
		{"set-nx-ex", "pause-holder", "1"},              // a violation of nearly every property
		{"redlock", "slow-work", "1"},                   // votes
		{"rw-hash", "read-mostly", "1"},                 // two modes
		{"bug-chained-deadlines", "nested", "91001"},    // order
		{"bug-short-inner-lease", "failover-held", "2"}, // commands to the store at the instant of an acquire
		{"bug-quorum-of-half", "failover", "91001"},     // none to the lock's node
		// commands of operations only: none can have renewed in the background
		{"token-session", "nested", "93001"},
	}
	for _, c := range cells {
		t.Run(c.lock+" "+c.scenario, func(t *testing.T) {
			w := newWorld(checker.Pass)
			w.runner, w.providers = harness.Run, providers
			dir := t.TempDir()
			w.call(t, "run", "--server", "sim", "--lock", c.lock, "--scenario", c.scenario, "--seed", c.seed, "--out", dir)
			told := causesTold(t, filepath.Join(dir, "latest", "violations"))
			if w = newWorld(checker.Pass); w.call(t, "check", filepath.Join(dir, "latest"), "-o", "json") != exitViolated || len(told) == 0 {
				t.Fatalf("%d violations told\n%s%s", len(told), w.out, w.err)
			}
			if strings.Contains(w.out.String(), "latest") {
				t.Errorf("what repeats it names the latest run, which is another tomorrow:\n%s", w.out)
			}
			var r results.Result
			must(t, json.Unmarshal([]byte(w.out.String()), &r))
			if said := strings.Join(r.Notes, "\n"); !strings.Contains(said, "the record is of one of the ") {
				t.Errorf("check says of the record of one schedule %q", said)
			}
			var broken []string
			for _, p := range r.Properties {
				if p.Verdict != checker.Fail {
					continue
				}
				broken = append(broken, string(p.Name))
				for cause := range told[string(p.Name)] {
					if p.Causes[cause] == 0 {
						t.Errorf("%s: check has the causes %v, the run had %s", p.Name, p.Causes, cause)
					}
				}
			}
			if had := slices.Sorted(maps.Keys(told)); !slices.Equal(had, slices.Sorted(slices.Values(broken))) {
				t.Errorf("check says that %v are broken, the run that %v", broken, had)
			}
		})
	}
}

// causesTold returns the causes in the stored violations of a run, by property.
func causesTold(t *testing.T, dir string) map[string]map[verdicts.Cause]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	must(t, err)
	head := regexp.MustCompile(`^(\S+) broken by (\S+)`)
	told := map[string]map[verdicts.Cause]bool{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(t, err)
		m := head.FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s does not begin with what is broken: %s", f, text)
		}
		if told[string(m[1])] == nil {
			told[string(m[1])] = map[verdicts.Cause]bool{}
		}
		told[string(m[1])][verdicts.Cause(m[2])] = true
	}
	return told
}

// TestCheckOfSeveralFiles: one line of JSON for each, in the order given, the one that cannot be
// read included; the exit code is that of the worst.
func TestCheckOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	const header = `{"schema":"lockbench/history/v1","lock":"l","kind":"mutex"}` + "\n"
	const first = `{"client":"a","op":"acquire","key":"k","call":0,"return":1,"outcome":"ok"}` + "\n"
	file := func(name, text string) string {
		path := filepath.Join(dir, name+".jsonl")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	pass := file("pass", header+first+`{"client":"a","op":"release","key":"k","call":2,"return":3,"outcome":"ok"}`+"\n"+
		`{"client":"b","op":"acquire","key":"k","call":4,"return":5,"outcome":"ok"}`+"\n")
	alone := file("alone", header+first)
	fail := file("fail", header+first+`{"client":"b","op":"acquire","key":"k","call":2,"return":3,"outcome":"ok"}`+"\n")
	full := file("full", header+first+`{"client":"a","op":"release","key":"k","call":2,"return":3,"outcome":"ok"}`+"\n"+
		`{"client":"b","op":"acquire","key":"k","call":4,"return":5,"outcome":"ok"}`+"\n"+
		`{"client":"c","op":"acquire","key":"k","call":6,"return":7,"outcome":"fail","err":"OOM command not allowed"}`+"\n")
	broken := file("broken", header+"{}\n")
	for _, row := range []struct {
		files []string
		code  int
		want  string
	}{
		{[]string{pass, pass}, 0, "pass pass"},
		{[]string{alone, pass}, 3, "inconclusive pass"},
		{[]string{alone, fail, pass}, 1, "inconclusive fail pass"},
		{[]string{full, pass}, 3, "inconclusive pass"}, // a third of its acquires failed
		{[]string{pass, broken, alone}, 4, "pass error inconclusive"},
		{[]string{broken, fail}, 1, "error fail"},
	} {
		w := newWorld(checker.Pass)
		w.exits(t, row.code, append([]string{"check", "-o", "json"}, row.files...)...)
		var verdicts []string
		for line := range strings.Lines(w.out.String()) {
			var one struct{ Verdict, Error string }
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %q", err, line)
			}
			if one.Error != "" {
				if !strings.HasPrefix(one.Error, broken+":2: ") {
					t.Errorf("the error %q, want it to begin with file and line, as on the terminal", one.Error)
				}
				one.Verdict = "error"
			}
			verdicts = append(verdicts, one.Verdict)
		}
		if got := strings.Join(verdicts, " "); got != row.want {
			t.Errorf("%v: %s, want %s", row.files, got, row.want)
		}
	}
}

const hostileHeader = `{"schema":"lockbench/history/v1","lock":"token","kind":"mutex","lease":2000000000}` + "\n"

// held is one hold of a client, from the acquire's return to the release's call.
func held(client string, id int, from, to int64) string {
	return fmt.Sprintf(`{"id":%d,"client":%q,"op":"acquire","key":"job","call":%d,"return":%d,"outcome":"ok"}`+"\n"+
		`{"id":%d,"client":%q,"op":"release","key":"job","call":%d,"return":%d,"outcome":"ok"}`+"\n", id, client, from-1, from, id, client, to, to+1)
}

func manyClients(n int64) string {
	var text strings.Builder
	text.WriteString(hostileHeader)
	for i := range n {
		text.WriteString(held(fmt.Sprint("client-", i), 1, 10*i+1, 10*i+5))
	}
	return text.String()
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	must(t, err)
	return w.EncodeAll([]byte(text), nil)
}

// TestHostileHistories returns check files that are damaged, endless or absurd: it says what is
// wrong and where, or judges rightly, and never allocates more than 512 MiB to find out.
func TestHostileHistories(t *testing.T) {
	many := manyClients(100_000)
	whole := compressed(t, many)
	endless := compressed(t, strings.Repeat("x", 64<<20)) // again and again, 10 GiB of one line in 160 frames
	for _, row := range []struct {
		name string
		file []byte
		exit int
		says string // on stdout or stderr
	}{
		{"100,000 clients", []byte(many), exitOK, "PASS"},
		{"a compressed file that is cut off", whole[:len(whole)*2/3], exitInconclusive, "the end of the history is cut off"},
		{"a compressed file that is damaged", append(append(bytes.Clone(whole[:1000]), "damage"...), whole[1006:]...), exitUsage, "history:"},
		{"a line of 10 GiB, compressed", append(compressed(t, hostileHeader), bytes.Repeat(endless, 160)...), exitUsage, "history:2: a line longer than 1048576 bytes"},
		{"a frame that asks for a window of 2 GiB", []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0}, exitUsage, "window"},
		{"times before the start", []byte(hostileHeader + held("a", 1, -900, -500) + held("b", 2, -700, -300)), exitUsage, "history:2: call -901 is negative"},
		{"every id the same", []byte(hostileHeader + held("a", 7, 1, 5) + held("b", 7, 8, 9)), exitOK, "PASS"},
		{"NaN for a time", []byte(hostileHeader + strings.Replace(held("a", 1, 4, 8), `"call":3`, `"call":NaN`, 1)), exitUsage, `history:2:56: expected an integer, found NaN`},
		{"no newline and no end", []byte(hostileHeader + `{"id":1,"client":"a`), exitInconclusive, "cut off"},
		{"not text", bytes.Repeat([]byte{0, 255, 10}, 1000), exitUsage, "history:1:1: expected the header as a JSON object"},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "history")
			must(t, os.WriteFile(path, row.file, 0o600))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			w := newWorld("")
			code := execute(t.Context(), []string{"lockbench", "check", path}, w.world)
			runtime.ReadMemStats(&after)
			if said := w.out.String() + w.err.String(); code != row.exit || !strings.Contains(said, row.says) {
				t.Errorf("exit %d, want %d; want to be told %q:\n%.2000s", code, row.exit, row.says, said)
			}
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 512 {
				t.Errorf("%d MiB were allocated", mib)
			}
		})
	}
}
