package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
)

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
		if got := w.call(t, append([]string{"check", "-o", "json"}, row.files...)...); got != row.code {
			t.Errorf("%v: exit code %d, want %d\n%s", row.files, got, row.code, w.err)
		}
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
