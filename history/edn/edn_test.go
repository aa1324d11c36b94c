package edn_test

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/history/edn"
)

var _ checker.Source = (*edn.Source)(nil)

func readAll(s *edn.Source) (ops []history.Operation, err error) {
	for {
		var op history.Operation
		if err := s.Next(&op); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return ops, err
		}
		ops = append(ops, op)
	}
}

func read(text string) ([]history.Operation, error) {
	return readAll(edn.NewSource(strings.NewReader(text)))
}

func TestOpenReadsAMapForEachLine(t *testing.T) {
	h, s, err := edn.Open(filepath.Join("testdata", "etcd-lock.edn"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := (history.Header{Lock: "jepsen", Kind: history.Mutex, Permits: 1}); h != want {
		t.Errorf("header %+v, want %+v", h, want)
	}
	got, err := readAll(s)
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Operation{
		{ID: 1, Client: "p0", Op: history.Acquire, Key: "lock", Call: 3291485317, Return: 3310000000, Outcome: history.OK},
		{ID: 2, Client: "p1", Op: history.Acquire, Key: "lock", Call: 3296209422, Return: 3565403674, Outcome: history.Fail, Err: "timeout lock held"},
		{ID: 3, Client: "p0", Op: history.Release, Key: "lock", Call: 3600000000, Return: 8600000000, Outcome: history.Unknown, Err: "timeout"},
		{ID: 4, Client: "p1", Op: history.Release, Key: "lock", Call: 8700000000, Return: 8700000100, Outcome: history.NotHeld, Err: "not-held"},
		{ID: 5, Client: "p2", Op: history.Acquire, Key: "lock", Call: 8800000000, Return: 8800000000, Outcome: history.Unknown},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestShapes reads the shapes that a history comes in. Each must return the acquire of process 3,
// with its fence if it has one.
func TestShapes(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		fence uint64
		key   string
		from  int64
	}{
		// Knossos stores a vector, often without times.
		"vector": {`[{:process 3, :type :invoke, :f :acquire} {:process 3, :type :ok, :f :acquire}]`, 0, "lock", 0},
		// Newer versions print their record type.
		"tagged": {`#jepsen.history.Op{:index 0, :time 5, :type :invoke, :process 3, :f :acquire, :value nil}
			#jepsen.history.Op{:index 1, :time 9, :type :ok, :process 3, :f :acquire, :value nil}`, 0, "lock", 5},
		"fence as number": {`{:process 3 :type :invoke :f :acquire :time 5}{:process 3 :type :ok :f :acquire :value 17 :time 6}`, 17, "lock", 5},
		"fence in a map": {`{:process 3 :type :invoke :f :acquire :time 5}
			{:process 3 :type :ok :f :acquire :value {:client "n1-uid", :fence 8N} :time 6}`, 8, "lock", 5},
		"independent tuple": {`{:process 3 :type :invoke :f :acquire :value [job nil] :time 5}
			{:process 3 :type :ok :f :acquire :value #jepsen.independent.Tuple[job 4] :time 6}`, 4, "job", 5},
		"comments and discards": {`;; header
			#_{:process 9} {:process 3, #_ #_ :a :b :type :invoke, :f :acquire :x #{1 2} :y \newline :z #inst "2026-01-01" :r 1.5M :s ##NaN}
			{:process 3 :type :ok :f :acquire} ; end`, 0, "lock", 0},
		"empty lists and strings": {`{:process 3 :type :invoke :f :lock :value () :s "a\"b\n"} {:process 3 :type :ok :f :lock :value []}`, 0, "lock", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(c.text)
			if err != nil || len(got) != 1 {
				t.Fatalf("%d operations, %v", len(got), err)
			}
			op := got[0]
			if op.Client != "p3" || op.Op != history.Acquire || op.Outcome != history.OK || op.Fence != c.fence || op.Key != c.key || op.Call != c.from {
				t.Errorf("%+v", op)
			}
		})
	}
}

// TestErrorsHaveLineAndColumn: errors have a position and say what was expected.
func TestErrorsHaveLineAndColumn(t *testing.T) {
	const invoke = `{:process 3 :type :invoke :f :acquire :time 5}` + "\n"
	for name, c := range map[string]struct {
		text      string
		line, col int
		says      string
	}{
		"no map":                      {"\n  42", 2, 3, "expected an operation"},
		"no type":                     {`{:process 3 :f :acquire}`, 1, 1, "found none"},
		"strange type":                {`{:process 3 :type :maybe :f :acquire}`, 1, 1, "found :maybe"},
		"strange operation":           {`{:process 3 :type :ok :f :read}`, 1, 1, "expected :f to be :acquire or :release, found :read"},
		"no process":                  {`{:type :ok :f :acquire}`, 1, 1, ":process"},
		"time in words":               {`{:process 3 :type :ok :f :acquire :time "now"}`, 1, 1, "nanoseconds"},
		"negative time":               {`{:process 3 :type :invoke :f :acquire :time -5}`, 1, 1, "found -5"},
		"completion alone":            {`{:process 3 :type :ok :f :acquire}`, 1, 1, "did not invoke"},
		"completion of another":       {invoke + `{:process 3 :type :ok :f :release :time 6}`, 2, 1, "did not invoke"},
		"completes before it began":   {invoke + `{:process 3 :type :ok :f :acquire :time 4}`, 2, 1, "before its invocation"},
		"two at once":                 {invoke + invoke, 2, 1, "at line 1"},
		"time in one only":            {invoke + `{:process 3 :type :ok :f :acquire}`, 2, 1, "in all operations or in none"},
		"unclosed map":                {invoke + `{:process 3 `, 2, 1, "found the end"},
		"unclosed vector":             {`[` + invoke, 2, 1, "found the end"},
		"something after the vector":  {`[] {}`, 1, 4, "nothing after the vector"},
		"odd map":                     {`{:process}`, 1, 1, "expected an operation in EDN"},
		"stray bracket":               {`}`, 1, 1, "found '}'"},
		"unclosed string":             {`{:error "abc}`, 1, 1, "found the end"},
		"a number too large":          {`{:process 99999999999999999999}`, 1, 1, "out of range"},
		"a number and a letter":       {invoke + "{:process 3\n :value 5x}", 2, 1, "invalid character 'x'"},
		"a process that is no number": {`{:process "3" :type :ok :f :acquire}`, 1, 1, "a string 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(c.text)
			var syntax *history.SyntaxError
			if !errors.As(err, &syntax) {
				t.Fatalf("error %v, want a *history.SyntaxError", err)
			}
			if syntax.Line != c.line || syntax.Col != c.col || !strings.Contains(syntax.Msg, c.says) {
				t.Errorf("%v; want line %d, column %d, and %q", err, c.line, c.col, c.says)
			}
		})
	}
}

// TestHostileTextIsRefusedEarly: endless or endlessly nested operations cost no more than the
// limits.
func TestHostileTextIsRefusedEarly(t *testing.T) {
	for name, text := range map[string]io.Reader{
		"endless string":  io.MultiReader(strings.NewReader(`{:error "`), endless('x')),
		"endless vector":  io.MultiReader(strings.NewReader(`{:value [`), endless('1')),
		"endless discard": io.MultiReader(strings.NewReader(`{:value `), strings.NewReader(strings.Repeat("#_", 1<<20))),
		"deep":            endless('['),
	} {
		var syntax *history.SyntaxError
		if _, err := readAll(edn.NewSource(text)); !errors.As(err, &syntax) || !strings.Contains(syntax.Msg, "at most") {
			t.Errorf("%s: %v, want the limit in the error", name, err)
		}
	}
}

// endless is a text of one byte without end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestOpenNamesTheFile(t *testing.T) {
	if _, _, err := edn.Open("testdata/missing.edn"); err == nil || !strings.Contains(err.Error(), "missing.edn") {
		t.Errorf("%v", err)
	}
}

// FuzzSource feeds any text: it never panics, ends, and what it accepts is a history of intervals,
// the same each time.
func FuzzSource(f *testing.F) {
	f.Add(`{:type :invoke, :f :acquire, :value nil, :process 0, :time 3, :index 0}{:type :ok, :f :acquire, :process 0, :time 4}`)
	f.Add(`[#jepsen.history.Op{:type :invoke :f :release :process 1} #_x {:process :nemesis} {:type :fail :f :release :process 1 :error :not-held}]`)
	f.Add(`1E200000000M`)
	f.Add(`{:a "\"" :b \c :d #{} :e ##Inf :f ^x :g #inst "" ; `)
	f.Fuzz(func(t *testing.T, text string) {
		ops, err := read(text)
		again, err2 := read(text)
		if (err == nil) != (err2 == nil) || !cmp.Equal(ops, again) {
			t.Fatalf("read twice: %v %v\n%s", err, err2, cmp.Diff(ops, again))
		}
		for _, op := range ops {
			if op.Call > op.Return || op.Call < 0 || op.Outcome == history.None || op.Client == "" || op.Key == "" {
				t.Errorf("accepted %+v", op)
			}
		}
		var syntax *history.SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Line < 1 || syntax.Col < 1) {
			t.Errorf("error without a position: %v", err)
		}
	})
}
