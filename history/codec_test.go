package history_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
)

const header = `{"schema":"lockbench/history/v1","lock":"token","kind":"mutex","lease":2000000000,"drift":0,"permits":1,"clock_error":0}` + "\n"

// readAll reads a text up to its end or first error.
func readAll(r io.Reader) (h history.Header, ops []history.Operation, err error) {
	in, err := history.NewReader(r)
	if err != nil {
		return h, nil, err
	}
	defer in.Close()
	for {
		var op history.Operation
		switch err := in.Next(&op); {
		case errors.Is(err, io.EOF):
			return in.Header(), ops, nil
		case err != nil:
			return in.Header(), ops, err
		}
		ops = append(ops, op)
	}
}

func drawOperation(t *rapid.T) history.Operation {
	allowed := map[history.Op][]history.Outcome{
		history.Acquire: {history.OK, history.Busy, history.Fail, history.Unknown},
		history.Extend:  {history.OK, history.NotHeld, history.LostHold},
		history.Release: {history.OK, history.NotHeld, history.LostHold, history.Unknown},
		history.Use:     {history.None},
		history.Write:   {history.OK, history.Rejected},
		history.Lost:    {history.None},
	}
	op := history.Operation{
		ID:     rapid.Uint64().Draw(t, "id"),
		Client: rapid.StringN(1, 8, -1).Draw(t, "client"),
		Op:     history.Op(rapid.IntRange(int(history.Acquire), int(history.Lost)).Draw(t, "op")),
		Key:    rapid.String().Draw(t, "key"),
		Mode:   history.Mode(rapid.IntRange(0, 1).Draw(t, "mode")),
		Call:   rapid.Int64Range(-1<<60, 1<<60).Draw(t, "call"),
		Token:  rapid.String().Draw(t, "token"),
		Fence:  rapid.Uint64().Draw(t, "fence"),
		Err:    rapid.String().Draw(t, "err"),
	}
	op.Return = op.Call + rapid.Int64Range(0, 1<<59).Draw(t, "took")
	if op.Op != history.Acquire {
		op.ModeNamed = op.Mode == history.Exclusive && rapid.Bool().Draw(t, "mode named")
	} else if rapid.Bool().Draw(t, "asked") {
		op.SetAsked(rapid.SampledFrom([]int64{op.Call, op.Return, min(max(0, op.Call), op.Return)}).Draw(t, "asked at"))
	}
	op.Outcome = rapid.SampledFrom(allowed[op.Op]).Draw(t, "outcome")
	op.ValidUntil = rapid.Int64Range(0, math.MaxInt64).Draw(t, "until")
	if op.HasValue = rapid.Bool().Draw(t, "value"); op.HasValue {
		op.Read, op.Wrote = rapid.Int64().Draw(t, "read"), rapid.Int64().Draw(t, "wrote")
	}
	if op.Versioned = rapid.Bool().Draw(t, "versioned"); op.Versioned {
		op.ReadVersion = rapid.Uint64Range(0, 1<<40).Draw(t, "read version")
		op.Version = rapid.SampledFrom([]uint64{0, op.ReadVersion + 1, op.ReadVersion + 9}).Draw(t, "version")
	}
	return op
}

func TestHistoryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := history.Header{Lock: rapid.String().Draw(t, "lock"), Kind: history.RW, Lease: 5, Drift: 2, Permits: 3, ClockError: 7, Votes: rapid.Bool().Draw(t, "votes"),
			Wakeups: rapid.Bool().Draw(t, "wakeups"), FIFO: rapid.Bool().Draw(t, "fifo"), LeaseFromAsking: rapid.Bool().Draw(t, "lease from asking"),
			NeedsReplica: rapid.Bool().Draw(t, "needs replica"), Quorum: rapid.IntRange(0, 5).Draw(t, "quorum"), Renews: rapid.Bool().Draw(t, "renews"),
			Epoch: rapid.Int64Range(0, 1<<61).Draw(t, "epoch")}
		ops := rapid.SliceOf(rapid.Custom(drawOperation)).Draw(t, "ops")
		var file bytes.Buffer
		w := history.NewWriter(&file, h)
		if rapid.Bool().Draw(t, "zstd") {
			w, _ = history.NewZstdWriter(&file, h)
		}
		for i := range ops {
			if err := w.Write(&ops[i]); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "flush") {
				_ = w.Flush() // an error would come back from Close
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		gotHeader, got, err := readAll(&file)
		if err != nil {
			t.Fatal(err)
		}
		if gotHeader != h {
			t.Fatalf("header: wrote %+v, read %+v", h, gotHeader)
		}
		for i := range ops {
			if ops[i].ID == 0 {
				ops[i].ID = uint64(i) + 1
			}
		}
		if len(got)+len(ops) > 0 && !cmp.Equal(ops, got) {
			t.Fatal(cmp.Diff(ops, got))
		}
	})
}

// TestContractExample reads the example of the documentation.
func TestContractExample(t *testing.T) {
	_, ops, err := readAll(strings.NewReader(header + `{"id":1,"client":"c1","op":"acquire","key":"job","mode":"exclusive","call":1000,"return":2000,"outcome":"ok","token":"t1","valid_until":2000001000,"fence":1}
{"id":3,"client":"c1","op":"use","key":"job","call":2100,"return":9000}
{"id":4,"client":"c1","op":"write","key":"job","call":3000,"return":3500,"outcome":"ok","fence":1,"read":7,"wrote":8,"read_version":3,"version":4,"later":{"a":[1,2,{"b":null}],"c":-1.5e3}}
{"id":7,"client":"c2","op":"lost","key":"job","call":9950,"return":9950,"token":"t2"}
`))
	want := []history.Operation{
		{ID: 1, Client: "c1", Op: history.Acquire, Key: "job", Call: 1000, Return: 2000, Outcome: history.OK, Token: "t1", ValidUntil: 2000001000, Fence: 1},
		{ID: 3, Client: "c1", Op: history.Use, Key: "job", Call: 2100, Return: 9000},
		{ID: 4, Client: "c1", Op: history.Write, Key: "job", Call: 3000, Return: 3500, Outcome: history.OK, Fence: 1, HasValue: true, Read: 7, Wrote: 8,
			Versioned: true, ReadVersion: 3, Version: 4},
		{ID: 7, Client: "c2", Op: history.Lost, Key: "job", Call: 9950, Return: 9950, Token: "t2"},
	}
	if err != nil || !cmp.Equal(want, ops) {
		t.Fatal(err, cmp.Diff(want, ops))
	}
}

// TestDriftWithoutALease reads a header whose drift takes nothing off, because a lease of 0 never
// ends.
func TestDriftWithoutALease(t *testing.T) {
	h, _, err := readAll(strings.NewReader(`{"schema":"lockbench/history/v1","kind":"mutex","lease":0,"drift":2}` + "\n"))
	if err != nil || h.Drift != 2 {
		t.Fatal(h, err)
	}
}

func TestErrorsHaveLineAndColumn(t *testing.T) {
	ok := `{"id":1,"client":"c1","op":"acquire","key":"k","call":1,"return":2,"outcome":"ok"}` + "\n"
	rows := []struct {
		name, text, want string
	}{
		{"nothing at all", "", `history:1: expected a header line with "schema":"lockbench/history/v1", found an empty file`},
		{"no header", ok, `history:1: expected a header line with "schema":"lockbench/history/v1" first`},
		{"another schema", `{"schema":"x"}`, `history:1:11: expected the schema "lockbench/history/v1", found "x"`},
		{"a header without kind", `{"schema":"lockbench/history/v1"}`, `history:1: expected the field "kind" in the header: mutex, reentrant, rw or semaphore`},
		{"an unknown kind", `{"schema":"lockbench/history/v1","kind":"spin"}`, `history:1:41: expected one of mutex, reentrant, rw, semaphore, found "spin"`},
		{"a negative lease", `{"schema":"lockbench/history/v1","kind":"rw","lease":-1}`, `history:1:54: expected nanoseconds from 0 to 2305843009213693951, found -1`},
		{"drift beyond the lease", `{"schema":"lockbench/history/v1","kind":"rw","lease":1,"drift":2}`, `history:1: drift 2 is more than the lease 1`},
		{"no JSON", header + "hello\n", `history:2:1: expected an operation as a JSON object, found hello`},
		{"an empty line between", header + "\n" + ok, `history:2: an empty line; expected one object per line`},
		{"an unknown op", header + strings.Replace(ok, "acquire", "grab", 1), `history:2:28: expected one of acquire, extend, release, use, write, lost, found "grab"`},
		{"an outcome the op cannot have", header + strings.Replace(ok, `"ok"`, `"rejected"`, 1), `history:2: expected the outcome of acquire to be ok, busy, fail or unknown, found "rejected"`},
		{"a busy extend", header + strings.NewReplacer("acquire", "extend", `"ok"`, `"busy"`).Replace(ok), `history:2: expected the outcome of extend to be ok, not_held, lost, fail or unknown, found "busy"`},
		{"asked before call", header + strings.Replace(ok, `"outcome"`, `"asked":-5,"outcome"`, 1), `history:2: expected asked between call 1 and return 2, found -5`},
		{"an outcome that is missing", header + strings.Replace(ok, `,"outcome":"ok"`, ``, 1), `history:2: expected the outcome of acquire to be ok, busy, fail or unknown, found ""`},
		{"a field that is missing", header + strings.Replace(ok, `"call":1,`, ``, 1), `history:2: expected the field "call"`},
		{"an empty client", header + strings.Replace(ok, `"c1"`, `""`, 1), `history:2: expected the name of a client, found an empty one`},
		{"return before call", header + strings.Replace(ok, `"return":2`, `"return":0`, 1), `history:2: return 0 is before call 1`},
		{"a field twice", header + strings.Replace(ok, `"call":1`, `"client":"c2","call":1`, 1), `history:2: the field "client" is given twice`},
		{"a field twice that may be absent", header + strings.Replace(ok, `"call":1`, `"fence":2,"call":1,"fence":3`, 1), `history:2: the field "fence" is given twice`},
		{"a field of the header twice", strings.Replace(header, `"lease"`, `"lease":5,"lease"`, 1), `history:1: the field "lease" is given twice`},
		{"NaN", header + strings.Replace(ok, `"call":1`, `"call":NaN`, 1), `history:2:55: expected an integer, found NaN`},
		{"a fraction", header + strings.Replace(ok, `"call":1`, `"call":1.5`, 1), `history:2:55: expected an integer, found 1.5`},
		{"an exponent", header + strings.Replace(ok, `"call":1`, `"call":1e3`, 1), `history:2:55: expected an integer, found 1e3`},
		{"a leading zero", header + strings.Replace(ok, `"call":1`, `"call":01`, 1), `history:2:55: expected an integer, found 01`},
		{"more than 64 bits", header + strings.Replace(ok, `"call":1`, `"call":99999999999999999999`, 1), `history:2:55: expected an integer of at most 64 bits, found 99999999999999999999`},
		{"a time that would overflow", header + strings.Replace(ok, `"call":1`, `"call":-9223372036854775808`, 1), `history:2:55: expected nanoseconds from -2305843009213693951 to 2305843009213693951, found -9223372036854775808`},
		{"a negative id", header + strings.Replace(ok, `"id":1`, `"id":-1`, 1), `history:2:7: expected an integer from 0 to 2^64-1, found -1`},
		{"a number for a string", header + strings.Replace(ok, `"c1"`, `1`, 1), `history:2:18: expected a string, found 1`},
		{"bytes that are not UTF-8", header + strings.Replace(ok, `"c1"`, "\"\xff\"", 1), `history:2:18: a string that is not UTF-8`},
		{"read without wrote", header + strings.Replace(ok, `"call"`, `"read":1,"call"`, 1), `history:2: expected read and wrote together: the value read before and the value stored`},
		{"text after the object", header + strings.TrimSpace(ok) + "x\n", `history:2:83: expected the end of the line, found x`},
		{"too deep", header + `{"x":` + strings.Repeat("[", 40) + "\n", `history:2:39: values nested deeper than 32`},
		{"a second error in the file is not reached", header + ok + "{}\n[]\n", `history:3: expected the field "client"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := readAll(strings.NewReader(row.text))
			var syntax *history.SyntaxError
			if !errors.As(err, &syntax) || err.Error() != row.want {
				t.Errorf("got  %v\nwant %s", err, row.want)
			}
		})
	}
}

func TestEmptyLinesAtTheEndAreSkipped(t *testing.T) {
	_, ops, err := readAll(strings.NewReader(header + `{"client":"a","op":"use","key":"k","call":-5,"return":-5}` + "\n\n\n"))
	if err != nil || len(ops) != 1 || ops[0].Call != -5 {
		t.Fatal(ops, err)
	}
}

// endless is a line that never ends.
type endless struct{ sent int64 }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, header[min(e.sent, int64(len(header))):])
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.sent += int64(len(p))
	return len(p), nil
}

func TestLineOfTenGigabytesIsRefusedEarly(t *testing.T) {
	in := &endless{}
	_, _, err := readAll(in)
	if err == nil || err.Error() != "history:2: a line longer than 1048576 bytes" {
		t.Error(err)
	}
	if in.sent > 4<<20 {
		t.Errorf("read %d bytes before giving up", in.sent)
	}
	// The same inside zstd, where 10 GB are a few hundred bytes.
	var bomb bytes.Buffer
	zip, _ := zstd.NewWriter(&bomb)
	if _, err := io.CopyN(zip, &endless{}, 1<<27); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAll(&bomb); err == nil || err.Error() != "history:2: a line longer than 1048576 bytes" {
		t.Error(err)
	}
}

// zipped returns a compressed history of two frames with three operations each.
func zipped(t *testing.T) (text []byte, firstFrame int) {
	t.Helper()
	var file bytes.Buffer
	w, err := history.NewZstdWriter(&file, history.Header{Kind: history.Mutex})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		op := history.Operation{ID: uint64(i), Client: "c", Op: history.Use, Key: "k", Call: int64(i), Return: int64(i)}
		if err := errors.Join(w.Write(&op)); err != nil {
			t.Fatal(err)
		}
		if i == 2 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			firstFrame = file.Len()
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes(), firstFrame
}

func TestTruncatedZstd(t *testing.T) {
	text, firstFrame := zipped(t)
	for cut := 5; cut < len(text); cut++ {
		in, err := history.NewReader(bytes.NewReader(text[:cut]))
		if cut < firstFrame {
			if err == nil {
				_ = in.Close() // only the header was read
			} else if !errors.Is(err, history.ErrTruncated) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var op history.Operation
		n := 0
		for err = in.Next(&op); err == nil; err = in.Next(&op) {
			n++
		}
		switch {
		case cut == firstFrame && (!errors.Is(err, io.EOF) || n != 3):
			t.Errorf("cut between frames: %d operations, %v", n, err)
		case cut > firstFrame && (!errors.Is(err, history.ErrTruncated) || n < 3):
			t.Errorf("cut at %d, inside the second frame: %d operations, %v", cut, n, err)
		}
		if again := in.Next(&op); again != err {
			t.Errorf("the error is not sticky: %v, then %v", err, again)
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSalvageReadsUpToTheCut(t *testing.T) {
	compressed, firstFrame := zipped(t)
	plain := header + `{"client":"a","op":"use","key":"k","call":1,"return":2}` + "\n"
	rows := []struct {
		name string
		text string
		want int
		cut  bool
	}{
		{"inside the second frame", string(compressed[:firstFrame+9]), 3, true},
		{"between frames", string(compressed[:firstFrame]), 3, false},
		{"inside a plain line", plain + `{"client":"a","op":`, 1, true},
		{"after a plain line", plain, 1, false},
		{"before the last newline", plain[:len(plain)-1], 1, false},
	}
	// A line that ends is whole: what is wrong with it is an error.
	for _, last := range []string{"null", "[]", `{"client":"a","op":"use"`, `{"client":"a"} oops`} {
		in, err := history.NewReader(strings.NewReader(plain + last + "\n"))
		if err != nil {
			t.Fatal(err)
		}
		in.Salvage()
		var op history.Operation
		_ = in.Next(&op)
		if err := in.Next(&op); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", last, err)
		}
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			in, err := history.NewReader(strings.NewReader(row.text))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			in.Salvage()
			var op history.Operation
			n := 0
			for err = in.Next(&op); err == nil; err = in.Next(&op) {
				n++
			}
			if !errors.Is(err, io.EOF) || n != row.want || in.Truncated() != row.cut {
				t.Errorf("%d operations, %v, truncated %v", n, err, in.Truncated())
			}
		})
	}
}

func TestGarbageAfterTheMagicIsAnError(t *testing.T) {
	text, _ := zipped(t)
	text[len(text)-3] ^= 0xff
	_, _, err := readAll(bytes.NewReader(text))
	var syntax *history.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(err.Error(), "zstd") {
		t.Error(err)
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.jsonl.zst")
	var text bytes.Buffer
	bad := []history.Operation{{Client: "c", Op: history.Use, Call: 2, Return: 1}}
	err := history.WriteHistory(&text, history.Header{Kind: history.Mutex, Lease: 1}, bad)
	if err := errors.Join(err, os.WriteFile(path, text.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	r, err := history.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var op history.Operation
	if err := r.Next(&op); err == nil || err.Error() != path+":2: return 1 is before call 2" {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if r.Header().Lease != 1 {
		t.Error(r.Header())
	}
}

// What is left of a file that lost its end has to be what all clients did up to a moment, though
// the operations are given client by client.
func TestWriteHistoryOrdersByReturn(t *testing.T) {
	op := func(id uint64, client string, from, to int64) history.Operation {
		return history.Operation{ID: id, Client: client, Op: history.Use, Key: "job", Call: from, Return: to}
	}
	var text bytes.Buffer
	given := []history.Operation{op(1, "c1", 1, 2), op(2, "c1", 7, 8), op(3, "c2", 3, 9), op(4, "c2", 4, 5)}
	if err := history.WriteHistory(&text, history.Header{Kind: history.Mutex, Lease: 1}, given); err != nil {
		t.Fatal(err)
	}
	_, ops, err := readAll(&text)
	if err != nil {
		t.Fatal(err)
	}
	var ids []uint64
	for _, op := range ops {
		ids = append(ids, op.ID)
	}
	if diff := cmp.Diff([]uint64{1, 4, 2, 3}, ids); diff != "" {
		t.Error(diff)
	}
}

// BenchmarkRead reads a compressed history of refusals and holds; it reports bytes of text.
func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	w, _ := history.NewZstdWriter(&file, history.Header{Kind: history.Mutex})
	size := 0
	const n = 200_000
	for i := range n {
		op := history.Operation{ID: uint64(i), Client: "client-" + string(rune('a'+i%26)), Op: history.Acquire, Key: "job", Call: int64(i) * 1000, Return: int64(i)*1000 + 500, Outcome: history.Busy}
		if i%4 == 0 {
			op.Outcome, op.Token, op.ValidUntil = history.OK, "token-"+strings.Repeat("x", i%10), 1<<40
		}
		size += len(history.AppendOperation(nil, &op))
		_ = w.Write(&op)
	}
	_ = w.Close()
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		in, err := history.NewReader(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		var op history.Operation
		ops := 0
		for err = in.Next(&op); err == nil; err = in.Next(&op) {
			ops++
		}
		if _ = in.Close(); !errors.Is(err, io.EOF) || ops != n {
			b.Fatal(ops, err)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}
