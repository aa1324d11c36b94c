package main

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
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
	tests := []struct {
		name  string
		final *int64
		save  saving
		code  int
		says  string
	}{
		{"it holds what was written", &five, saveHistory(ops), 0, "PASS"},
		{"the store lost what was written, which no lock can help", &zero, saveHistory(ops), 0, "5 of 5 are missing, the store holds 0"},
		{"what was written last is not in the file any more", &seven, cutHistory(ops), 3, "the end of the history is cut off"},
		{"nobody looked", nil, saveHistory(ops), 0, "PASS"},
		{"the run was killed", nil, saveRecording(ops), 3, "the end of the history is cut off"},
		{"killed before anything was done", nil, saveRecording(nil), 3, unrecorded},
		{"the machine stopped in the head of the recording", nil, cutRecording(20), 3, unrecorded},
		{"the machine stopped at its first byte", nil, cutRecording(0), 3, unrecorded},
		{"killed before its clients began", nil, func(*results.Dir, history.Header) error { return nil }, 3, unrecorded},
	}
	for _, tt := range tests {
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
				if got := w.call(t, "check", path); got != tt.code {
					t.Errorf("%s: exit code %d, want %d\n%s%s", path, got, tt.code, w.out, w.err)
				}
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
		r := history.NewRecorder()
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
