package history_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockbench/lockbench/history"
)

var steps = []history.Logged{
	{Node: 0, At: 5, Log: [][]string{{"SET", "k", "v\"\n", "PXAT", "9"}}},
	{Node: 1, At: 6, Log: [][]string{{"SET", "k", "v"}, {"INCR", "f"}}},
	{Node: 0, At: 7, Effect: history.Restarted, Kept: true},
	{Node: 0, At: 8, Effect: history.Promoted, Log: [][]string{{"SET", "k", "v"}}},
}

// TestLoggedSurvives: every step that was flushed is read back, wherever the file is cut off after
// it.
func TestLoggedSurvives(t *testing.T) {
	text, err := history.LoggedHead("a test")
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.NewBuffer(text)
	w, err := history.NewLoggedWriter(file)
	if err != nil {
		t.Fatal(err)
	}
	head := file.Len()
	whole := map[int]int{head: 0} // by size of the file, how many steps it has
	for i := range steps {
		w.Add(&steps[i])
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		whole[file.Len()] = i + 1
	}
	path, want := filepath.Join(t.TempDir(), "server.jsonl.zst"), 0
	for size := head; size <= file.Len(); size++ {
		if n, exact := whole[size]; exact {
			want = n
		}
		if err := os.WriteFile(path, file.Bytes()[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := history.LoadServer(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(steps[:want], log.Raw, cmpopts.EquateEmpty()); diff != "" || log.Source != "a test" {
			t.Fatalf("%d of %d bytes, source %q:\n%s", size, file.Len(), log.Source, diff)
		}
	}
	if want != len(steps) {
		t.Errorf("%d steps of the whole file, want %d", want, len(steps))
	}
}

// TestServerFileRoundTrip: what was executed is read back as it was written.
func TestServerFileRoundTrip(t *testing.T) {
	events := []history.Executed{
		{Node: 1, At: 5, Client: "c1", Conn: 2, Op: 3, Name: "SET", Args: []string{"k", "v"}, Reply: "OK", Changes: []history.DataChange{
			{Key: "k", After: &history.Datum{Value: "v", Until: 9}}, {Key: "h", Before: &history.Datum{Value: map[string]string{"f": "1"}}},
			{Key: "l", After: &history.Datum{Value: []string{"a"}}}, {Key: "z", After: &history.Datum{Value: map[string]float64{"m": 1}}}}},
		{At: 9, Effect: history.Expired, Changes: []history.DataChange{{Key: "k", Before: &history.Datum{Value: "v", Until: 9}}}},
	}
	var file bytes.Buffer
	if err := history.WriteServer(&file, "a test", events); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "server.jsonl.zst")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := history.LoadServer(path)
	if diff := cmp.Diff(events, log.Events); err != nil || diff != "" || log.Raw != nil || log.Cut {
		t.Errorf("%v, raw %v, cut %t:\n%s", err, log.Raw, log.Cut, diff)
	}
}
