package history_test

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
)

func TestCommandsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		commands := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) history.Command {
			c := drawCommand(t)
			c.Name = rapid.StringN(1, 9, -1).Draw(t, "any name")
			if c.Replied == 0 {
				c.Sent = rapid.Int64Range(-9, 1<<40).Draw(t, "sent early")
			}
			c.Client, c.Op, c.Turn = rapid.String().Draw(t, "client"), rapid.Uint64().Draw(t, "op"), rapid.Uint64().Draw(t, "turn")
			if c.Turn != 0 {
				c.Ran = rapid.Int64Range(0, 1<<40).Draw(t, "ran")
			}
			return c
		}), 1, 20).Draw(t, "commands")
		var file bytes.Buffer
		if err := history.WriteCommands(&file, commands, nil); err != nil {
			t.Fatal(err)
		}
		var got []history.Command
		if err := history.ReadCommands(&file, func(c history.Command) { got = append(got, c) }); err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(commands, got) {
			t.Fatal(cmp.Diff(commands, got))
		}
	})
}

func TestWindowsAreReadBack(t *testing.T) {
	windows := []history.Window{
		{Fault: "pause-client", Client: "c1", Node: -1, Start: 5, Ending: 8, End: 9, Confirmed: true, Moment: "granted", Note: "SIGSTOP", Does: history.Stops | history.CutsSubscriptions},
		{Fault: "kill-server", Node: 2, Start: -5},
		{Fault: "failover", Start: 5, End: 6, Confirmed: true, Replica: history.LackedKey, Effects: []history.Effect{
			{Node: 1, At: 6, What: history.Promoted, Turn: 5, Known: true, Kept: []string{"k"}, Lost: []string{"l", "m"}},
			{Node: -1, At: -6, What: history.ClockSet, By: -3, PPM: 4},
		}},
	}
	// a new field needs a row here, and may need a type in tags.go
	for field := range reflect.TypeFor[history.Window]().NumField() {
		if !slices.ContainsFunc(windows, func(w history.Window) bool { return !reflect.ValueOf(w).Field(field).IsZero() }) {
			t.Errorf("no row sets the field %s", reflect.TypeFor[history.Window]().Field(field).Name)
		}
	}
	path := filepath.Join(t.TempDir(), "faults.jsonl")
	var file bytes.Buffer
	if err := history.WriteWindows(&file, windows); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := history.LoadWindows(path)
	if err != nil || !cmp.Equal(windows, got) {
		t.Fatal(err, cmp.Diff(windows, got))
	}
}

func TestBadSidecars(t *testing.T) {
	rows := []struct{ name, text, want string }{
		{"a history instead", header, `history:1:11: expected the schema "lockbench/faults/v1", found "lockbench/history/v1"`},
		{"empty", "", `history:1: expected a header line with "schema":"lockbench/faults/v1", found an empty file`},
		{"a header without schema", "{}\n", `history:1: expected a header line with "schema":"lockbench/faults/v1" first`},
		{"a window that ends before it starts", `{"schema":"lockbench/faults/v1"}` + "\n" + `{"fault":"x","start":5,"end":4}` + "\n", `history:2: end 4 is before start 5`},
		{"a window without a fault", `{"schema":"lockbench/faults/v1"}` + "\n" + `{"start":5}` + "\n", `history:2: expected the field "fault": a name such as pause-client`},
		{"a node out of range", `{"schema":"lockbench/faults/v1"}` + "\n" + `{"fault":"x","node":-2}` + "\n", `history:2:21: expected the number of a node from -1 to 1048576, found -2`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if _, err := history.ReadWindows(strings.NewReader(row.text)); err == nil || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

// TestSidecarCutOffInItsHeader: it says as little as a missing one, also where no line is left of a
// compressed one.
func TestSidecarCutOffInItsHeader(t *testing.T) {
	var file bytes.Buffer
	if err := history.WriteCommands(&file, []history.Command{{Client: "c1", Name: "SET"}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{file.String()[:file.Len()/2], `{"schema":"lockbench/com`} {
		read := 0
		if err := history.ReadCommands(strings.NewReader(text), func(history.Command) { read++ }); err != nil || read > 0 {
			t.Errorf("%q: %d commands, %v", text, read, err)
		}
	}
}

// BenchmarkCommands writes commands and reads them back.
func BenchmarkCommands(b *testing.B) {
	const n = 50_000
	var commands []history.Command
	for i := range int64(n) {
		commands = append(commands, history.Command{Client: "c1", Conn: 3, Op: uint64(i), Sent: i * 1000, Replied: i*1000 + 500, Turn: uint64(i) + 1, Ran: i*1000 + 200,
			Name: "SET", Args: []string{"lock:job", "token", "NX", "PX", "2000"}, Reply: "OK"})
	}
	b.ReportAllocs()
	for b.Loop() {
		var file bytes.Buffer
		_ = history.WriteCommands(&file, commands, nil) // a bytes.Buffer does not fail
		read := 0
		if err := history.ReadCommands(&file, func(history.Command) { read++ }); err != nil || read != n {
			b.Fatal(read, err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}

// An infinite score has no form in JSON, and must not keep a record from being saved.
func TestInfiniteScoresAreWritten(t *testing.T) {
	text, err := json.Marshal(history.Datum{Value: map[string]float64{"a": math.Inf(1), "b": math.Inf(-1), "c": 1}})
	var back history.Datum
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	want := map[string]float64{"a": math.MaxFloat64, "b": -math.MaxFloat64, "c": 1}
	if err != nil || !cmp.Equal(back.Value, any(want)) {
		t.Errorf("%s: %v, %v", text, back.Value, err)
	}
}
