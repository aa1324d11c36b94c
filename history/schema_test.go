package history_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/schematest"
)

// full sets every field, so that a written field that a schema lacks fails the test.
func full() (h history.Header, op history.Operation, c history.Command, w history.Window) {
	h = history.Header{Lock: "token", Kind: history.RW, Lease: 5, Drift: 1, Permits: 2, ClockError: 3, Votes: true, Quorum: 2, Renews: true}
	op = history.Operation{
		ID: 1, Client: "c1", Op: history.Write, Key: "job", Mode: history.Shared, Call: 1, Return: 2, Outcome: history.OK,
		Token: "t", ValidUntil: 9, Fence: 4, HasValue: true, Read: 7, Wrote: 8, Versioned: true, ReadVersion: 3, Version: 4, Err: "e",
	}
	c = history.Command{Client: "c1", Node: 1, Conn: 2, Sent: 3, Replied: 4, Name: "SET", Args: []string{"k", "v"}, Reply: "OK",
		Op: 1, Turn: 7, Ran: 4, Script: "abc", Cut: true}
	w = history.Window{Fault: "pause-client", Client: "c1", Node: 2, Start: 1, End: 2, Confirmed: true, Moment: "m", Note: "n", Does: history.Stops | history.Kills,
		Effects: []history.Effect{{Node: 1, At: 2, What: history.Restarted, By: 3, PPM: 4, Turn: 5, Known: true, Kept: []string{"k"}, Lost: []string{"l"}}}}
	return h, op, c, w
}

func TestSchemasDescribeWhatIsWritten(t *testing.T) {
	h, op, c, w := full()
	var ops, commands, faults, server bytes.Buffer
	hw := history.NewWriter(&ops, h)
	_ = hw.Write(&op) // a bytes.Buffer does not fail
	_ = hw.Close()
	if err := history.WriteCommands(&commands, []history.Command{c}, map[string]string{"abc": "return 1"}); err != nil {
		t.Fatal(err)
	}
	_ = history.WriteWindows(&faults, []history.Window{w})
	if err := history.WriteServer(&server, "a test", []history.Executed{
		{Node: 1, At: 5, Client: "c1", Conn: 2, Op: 3, Name: "EVALSHA", Script: "abc", Args: []string{"k"}, Reply: "1", Open: true, Changes: []history.DataChange{
			{Key: "k", Before: nil, After: &history.Datum{Value: "v", Until: 9}},
			{Key: "l", Before: &history.Datum{Value: []string{"a"}}, After: &history.Datum{Value: map[string]float64{"m": 1}}}}},
		{At: 9, Effect: history.Expired, Changes: []history.DataChange{{Key: "k", Before: &history.Datum{Value: map[string]string{"f": "v"}}}}},
	}); err != nil {
		t.Fatal(err)
	}
	for schema, text := range map[string][]byte{
		"history-v1": ops.Bytes(), "commands-v2": unpacked(t, &commands), "faults-v1": faults.Bytes(), "server-v1": unpacked(t, &server),
	} {
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			for _, problem := range schematest.Check(t, "schema/"+schema+".schema.json", []byte(line)) {
				t.Errorf("%s:%d: %s", schema, n, problem)
			}
		}
		if n < 2 {
			t.Errorf("%s: %d lines, want a header and more", schema, n)
		}
	}
}

func unpacked(t *testing.T, packed io.Reader) []byte {
	t.Helper()
	r, err := zstd.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReaderRefusesWhatTheSchemaRefuses: a line that breaks the schema is an error of the reader
// too. The reverse does not hold: a schema sees one line, and no order of two numbers.
func TestReaderRefusesWhatTheSchemaRefuses(t *testing.T) {
	const header = `{"schema":"lockbench/history/v1","kind":"mutex"}` + "\n"
	for name, line := range map[string]string{
		"no client":        `{"op":"use","key":"k","call":1,"return":2}`,
		"empty client":     `{"client":"","op":"use","key":"k","call":1,"return":2}`,
		"strange op":       `{"client":"c","op":"lock","key":"k","call":1,"return":2}`,
		"strange outcome":  `{"client":"c","op":"acquire","key":"k","call":1,"return":2,"outcome":"maybe"}`,
		"time with point":  `{"client":"c","op":"use","key":"k","call":1.5,"return":2}`,
		"time in text":     `{"client":"c","op":"use","key":"k","call":"1","return":2}`,
		"read alone":       `{"client":"c","op":"write","key":"k","call":1,"return":2,"outcome":"ok","read":1}`,
		"version alone":    `{"client":"c","op":"write","key":"k","call":1,"return":2,"outcome":"ok","version":1}`,
		"version zero":     `{"client":"c","op":"write","key":"k","call":1,"return":2,"outcome":"ok","read_version":0,"version":0}`,
		"negative fence":   `{"client":"c","op":"acquire","key":"k","call":1,"return":2,"outcome":"ok","fence":-1}`,
		"negative horizon": `{"client":"c","op":"acquire","key":"k","call":1,"return":2,"outcome":"ok","valid_until":-1}`,
	} {
		if len(schematest.Check(t, "schema/history-v1.schema.json", []byte(line))) == 0 {
			t.Errorf("%s: the schema accepts %s", name, line)
		}
		r, err := history.NewReader(strings.NewReader(header + line + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		var op history.Operation
		if err := r.Next(&op); err == nil {
			t.Errorf("%s: the reader accepts %s", name, line)
		}
	}
}
