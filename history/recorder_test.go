package history_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// spilled makes a recording, spilling when the caller asks, and returns the file's content.
type spilled struct {
	*history.Recorder
	path string
	file *os.File
}

func newSpilled(t testing.TB) *spilled {
	t.Helper()
	s := &spilled{Recorder: &history.Recorder{}, path: filepath.Join(t.TempDir(), "recording")}
	var err error
	if s.file, err = os.Create(s.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.file.Close() })
	if _, err := s.file.Write(history.RecordingHead(recordedHeader)); err != nil {
		t.Fatal(err)
	}
	return s
}

var recordedHeader = history.Header{Lock: "token", Kind: history.Mutex, Lease: 5, Permits: 1}

func (s *spilled) spill(t testing.TB) history.Recorded {
	t.Helper()
	if err := s.Spill(s.file, math.MaxInt64); err != nil {
		t.Fatal(err)
	}
	r, err := history.LoadRecording(s.path)
	if err != nil || r.Header != recordedHeader {
		t.Fatal(r.Header, err)
	}
	return r
}

// TestACutRecordingEndsAtItsMark: what one client did after the instant up to which all are
// complete is not read.
func TestACutRecordingEndsAtItsMark(t *testing.T) {
	s := newSpilled(t)
	a, b := s.Client("a"), s.Client("b")
	for _, op := range []history.Operation{{Op: history.Use, Key: "k", Call: 1, Return: 2}, {Op: history.Use, Key: "k", Call: 3, Return: 9}} {
		a.Add(op)
		b.Add(op)
	}
	a.AddCommand(history.Command{Name: "GET", Sent: 5})
	a.AddCommand(history.Command{Name: "GET", Sent: 10})
	if err := s.Spill(s.file, 8); err != nil {
		t.Fatal(err)
	}
	a.Add(history.Operation{Op: history.Use, Key: "k", Call: 11, Return: 12})
	if err := s.Spill(cutAfter{s.file, new(int)}, 20); err == nil { // the block of a, and not the mark
		t.Fatal("nothing was cut")
	}
	got, err := history.LoadRecording(s.path)
	if err != nil || len(got.Ops) != 2 || got.Ops[1].Client != "b" || len(got.Commands) != 1 || !got.Truncated {
		t.Errorf("%+v, %v; want the first operation of each client and the first command", got, err)
	}
}

// cutAfter is a full disk after one write.
type cutAfter struct {
	w io.Writer
	n *int
}

func (c cutAfter) Write(p []byte) (int, error) {
	if *c.n++; *c.n > 1 {
		return 0, io.ErrShortWrite
	}
	return c.w.Write(p)
}

// TestTruncatedRecording truncates a recording at every byte: exactly the whole blocks are read.
func TestTruncatedRecording(t *testing.T) {
	s := newSpilled(t)
	a := s.Client("a")
	var ends []int64 // of the file after each spill
	for i := range int64(3) {
		a.Add(history.Operation{Op: history.Use, Key: "k", Call: i, Return: i})
		s.spill(t)
		info, err := os.Stat(s.path)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, info.Size())
	}
	for size := ends[2]; size > ends[0]; size-- {
		if err := os.Truncate(s.path, size); err != nil {
			t.Fatal(err)
		}
		got, err := history.LoadRecording(s.path)
		want := 1
		for want < 3 && size >= ends[want] {
			want++
		}
		if whole := slices.Contains(ends, size); err != nil || len(got.Ops) != want || got.Truncated == whole {
			t.Fatalf("cut to %d bytes: %d operations, want %d; truncated %v; %v", size, len(got.Ops), want, got.Truncated, err)
		}
	}
}

// A recording truncated in its head is empty.
func TestRecordingTruncatedInItsHead(t *testing.T) {
	head := history.RecordingHead(recordedHeader)
	path := filepath.Join(t.TempDir(), "recording")
	for size := range len(head) {
		if err := os.WriteFile(path, head[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := history.LoadRecording(path)
		want := history.Recorded{Truncated: true, Scripts: map[string]string{}}
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("cut to %d of %d bytes: %v\n%s", size, len(head), err, cmp.Diff(want, got))
		}
	}
	if err := os.WriteFile(path, []byte("no recording"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := history.LoadRecording(path); err == nil || !strings.Contains(err.Error(), path+":1:1: expected the header as a JSON object") {
		t.Errorf("a file that is not a recording: %v", err)
	}
}

func drawCommand(t *rapid.T) history.Command {
	c := history.Command{
		Node: rapid.IntRange(-1, 4).Draw(t, "node"), Conn: rapid.Uint64().Draw(t, "conn"), Sent: rapid.Int64Range(0, 1<<60).Draw(t, "sent"),
		Name: rapid.StringMatching("[A-Z]{1,3}").Draw(t, "name"), Reply: rapid.String().Draw(t, "reply"),
		Args: rapid.SliceOfN(rapid.String(), 0, history.MaxArgs).Draw(t, "args"), Script: rapid.String().Draw(t, "script"),
		Cut: rapid.Bool().Draw(t, "cut"),
	}
	if len(c.Args) == 0 {
		c.Args = nil
	}
	if rapid.Bool().Draw(t, "replied") {
		c.Replied = c.Sent + rapid.Int64Range(1, 1<<59).Draw(t, "took")
	}
	return c
}

// TestRecordingRoundTrip: a recording returns what was recorded, whenever it was spilled, and
// encodes to the same JSON Lines.
func TestRecordingRoundTrip(t *testing.T) {
	file := filepath.Join(t.TempDir(), "recording")
	rapid.Check(t, func(t *rapid.T) {
		r, out := &history.Recorder{}, bytes.NewBuffer(history.RecordingHead(recordedHeader))
		var err error
		client := r.Client("c1")
		want := history.Recorded{Scripts: map[string]string{}}
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			if s := (history.Script{Digest: rapid.StringN(1, 3, -1).Draw(t, "digest"), Source: rapid.String().Draw(t, "source")}); rapid.Bool().Draw(t, "script") {
				client.AddScript(s)
				want.Scripts[s.Digest] = s.Source
			} else if rapid.Bool().Draw(t, "command") {
				c := drawCommand(t)
				client.AddCommand(c)
				c.Client = "c1"
				want.Commands = append(want.Commands, c)
			} else {
				op := drawOperation(t)
				client.Add(op)
				op.Client, op.ID = "c1", uint64(len(want.Ops))+1
				want.Ops = append(want.Ops, op)
			}
			if rapid.Bool().Draw(t, "spill") {
				err = errors.Join(err, r.Spill(out, math.MaxInt64))
			}
		}
		if err := errors.Join(err, r.Spill(out, math.MaxInt64), os.WriteFile(file, out.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		got, err := history.LoadRecording(file)
		want.Header = recordedHeader
		history.LinkCommands(want.Ops, want.Commands)
		history.Settle(want.Ops, want.Commands, nil)
		if err != nil || !cmp.Equal(want, got) {
			t.Fatal(err, cmp.Diff(want, got))
		}
		if a, b := lines(want), lines(got); !bytes.Equal(a, b) {
			t.Fatalf("JSON of what was recorded:\n%s\nand of what was read:\n%s", a, b)
		}
	})
}

// lines returns a record as JSON Lines.
func lines(r history.Recorded) (text []byte) {
	for i := range r.Ops {
		text = history.AppendOperation(text, &r.Ops[i])
	}
	for i := range r.Commands {
		text = history.AppendCommand(text, &r.Commands[i])
	}
	return text
}

func TestNothingIsLostBetweenAddAndSpill(t *testing.T) {
	s := newSpilled(t)
	var clients sync.WaitGroup
	for c := range 4 {
		rec := s.Client(fmt.Sprint("c", c))
		clients.Go(func() {
			for i := range 1000 {
				rec.Add(history.Operation{Op: history.Use, Key: "k", Call: int64(i), Return: int64(i)})
			}
		})
	}
	for range 50 {
		if err := s.Spill(s.file, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
	}
	clients.Wait()
	got := s.spill(t)
	if len(got.Ops) != 4000 {
		t.Fatalf("%d operations", len(got.Ops))
	}
	next := map[string]int64{}
	for _, op := range got.Ops {
		if op.Call != next[op.Client] {
			t.Fatalf("%s: operation %d, want %d", op.Client, op.Call, next[op.Client])
		}
		next[op.Client]++
	}
}

// FuzzRecording: no bytes crash the reader, or make it return what is no operation.
func FuzzRecording(f *testing.F) {
	s := newSpilled(f)
	c := s.Client("c")
	c.Add(history.Operation{Op: history.Acquire, Outcome: history.OK, Key: "k", Token: "t", Return: 5, ValidUntil: 9, Fence: 1})
	c.AddCommand(history.Command{Name: "SET", Args: []string{"k", "t"}, Sent: 1, Replied: 2, Reply: "OK"})
	s.spill(f)
	seed, err := os.ReadFile(s.path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(append(slices.Clone(seed), seed[len(seed)-20:]...))
	for _, wrong := range []history.Operation{{Op: history.Lost + 3}, {Op: history.Use, Outcome: history.Unknown + 1}} {
		r, out := &history.Recorder{}, bytes.NewBuffer(history.RecordingHead(recordedHeader))
		r.Client("c").Add(wrong)
		_ = r.Spill(out, math.MaxInt64) // a bytes.Buffer does not fail
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "recording")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := history.LoadRecording(path)
		if err != nil && !strings.Contains(err.Error(), "recording") {
			t.Errorf("an error without the file's name: %v", err)
		}
		for _, op := range got.Ops {
			if op.Op > history.Lost || op.Outcome > history.Unknown || op.Mode > history.Shared {
				t.Errorf("accepted %+v", op)
			}
		}
	})
}

func TestOperationsInMemoryAreInCallOrder(t *testing.T) {
	r := &history.Recorder{}
	a, b := r.Client("a"), r.Client("b")
	b.Add(history.Operation{Call: 3, Return: 9})
	b.Add(history.Operation{Call: 12, Return: 13})
	a.Add(history.Operation{Call: 5, Return: 6})
	a.AddCommand(history.Command{Sent: 2})
	b.AddCommand(history.Command{Sent: 1})
	var got string
	recorded := r.Recorded()
	for _, op := range recorded.Ops {
		got += fmt.Sprint(op.ID, op.Client, op.Call, " ")
	}
	for _, c := range recorded.Commands {
		got += c.Client
	}
	if want := "1b3 2a5 3b12 ba"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func BenchmarkAdd(b *testing.B) {
	r := &history.Recorder{}
	c := r.Client("c")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		c.Add(history.Operation{Op: history.Acquire, Key: "job", Call: int64(i), Return: int64(i), Token: "0123456789abcdef0123456789abcdef01234567"})
		if i%10_000 == 9_999 {
			b.StopTimer()
			_ = r.Spill(io.Discard, math.MaxInt64)
			b.StartTimer()
		}
	}
}
