package explain_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// blindCase is a violation of a recorded run for which a reader named the cause, who saw the
// operations, the commands and the faults, but no name of a lock and no answer of this package.
type blindCase struct {
	Name, Cell string
	Cause      verdicts.Cause // the reader's
	Because    string

	Property   verdicts.Property // of the violation, with what shows it
	At, Lasted int64
	Clients    []string
	Key        string
	Holds      []uint64 // by acquire
	Shown      []history.Operation

	Granted  map[string]int // acquires by outcome
	Header   history.Header
	Ops      []history.Operation
	Commands []history.Command
	Scripts  map[string]string
	Faults   []history.Window
	Effects  []history.Executed
}

// verdict returns a verdict with the violation alone.
func (c *blindCase) verdict() *checker.Verdict {
	v := checker.Violation{Property: c.Property, At: c.At, Lasted: c.Lasted, Clients: c.Clients, Key: c.Key, Witness: checker.Witness{Operations: c.Shown}}
	for _, id := range c.Holds {
		op := c.Ops[slices.IndexFunc(c.Ops, func(op history.Operation) bool { return op.ID == id })]
		v.Witness.Holds = append(v.Witness.Holds, checker.Hold{Client: op.Client, Acquire: op})
	}
	return &checker.Verdict{Operations: checker.Operations{history.Acquire.String(): c.Granted}, Violations: []checker.Violation{v}}
}

// blindSet reads the two hundred cases: failing cells drawn at random, half of them simulated and
// half on redis-server.
func blindSet(t testing.TB) (cases []*blindCase) {
	t.Helper()
	f, err := os.Open("testdata/blind.jsonl.zst")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for lines := json.NewDecoder(in); lines.More(); {
		c := &blindCase{}
		if err := lines.Decode(c); err != nil {
			t.Fatal(err)
		}
		faults.Describe(c.Faults)
		cases = append(cases, c)
	}
	return cases
}

// TestBlindSet compares the causes with the readers'. At least 190 must be the same, and each of
// the others unknown.
func TestBlindSet(t *testing.T) {
	srv, right := server(t), 0
	cases := blindSet(t)
	for _, c := range cases {
		rec := explain.Record{Header: c.Header, Ops: c.Ops, Commands: c.Commands, Scripts: c.Scripts, Faults: c.Faults, Effects: c.Effects}
		found, err := explain.Verdict(t.Context(), c.verdict(), rec, srv)
		if err != nil {
			t.Fatal(err)
		}
		switch a := found.Answers[0]; a.Cause {
		case c.Cause:
			right++
		case verdicts.CauseUnknown:
			t.Logf("%s (%s): unknown, the reader says %s: %s", c.Name, c.Cell, c.Cause, c.Because)
		default:
			t.Errorf("%s (%s): %s: %s, the reader says %s: %s", c.Name, c.Cell, a.Cause, said(a), c.Cause, c.Because)
		}
	}
	t.Logf("of %d cases %d have the reader's cause", len(cases), right)
	if len(cases) != 200 || right < 190 {
		t.Errorf("%d of %d cases are right, want at least 190 of 200", right, len(cases))
	}
}

// BenchmarkCause measures one violation, without the reading of its record.
func BenchmarkCause(b *testing.B) {
	srv, err := fakeredis.New()
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Close()
	cases := blindSet(b)
	for i := 0; b.Loop(); i++ {
		c := cases[i%len(cases)]
		rec := explain.Record{Header: c.Header, Ops: c.Ops, Commands: c.Commands, Scripts: c.Scripts, Faults: c.Faults, Effects: c.Effects}
		if _, err := explain.Verdict(b.Context(), c.verdict(), rec, srv); err != nil {
			b.Fatal(err)
		}
	}
}
