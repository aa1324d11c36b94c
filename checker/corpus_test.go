package checker

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

var update = flag.Bool("update", false, "write golden files and the corpus anew")

const corpusDir = "testdata/corpus"

// TestCorpus holds attribution to the labelled corpus. A cause that is left unknown lowers the accuracy that is printed;
// a cause that is wrong fails.
func TestCorpus(t *testing.T) {
	if *update {
		writeCorpus(t)
	}
	dirs, err := filepath.Glob(filepath.Join(corpusDir, "*", "*"))
	if err != nil || len(dirs) < 60 {
		t.Fatalf("%d histories in %s (%v), want at least 60", len(dirs), corpusDir, err)
	}
	total, right, unknown := 0, 0, 0
	perCause := map[history.Cause]int{}
	for _, dir := range dirs {
		c := loadCase(t, dir)
		perCause[history.Cause(filepath.Base(filepath.Dir(dir)))]++
		ev := c.evidence()
		for _, want := range c.violations {
			v := want
			v.Cause = ""
			got := attribute(&v, ev)
			total++
			switch got {
			case want.Cause:
				right++
			case history.CauseUnknown:
				unknown++
				t.Logf("%s: %s: unknown, want %s", dir, want.Property, want.Cause)
			default:
				t.Errorf("%s: %s between %v: cause %s, want %s", dir, want.Property, want.Clients, got, want.Cause)
			}
		}
	}
	t.Logf("%d histories, %d violations: %d right (%.1f %%), %d unknown, %d wrong",
		len(dirs), total, right, 100*float64(right)/float64(total), unknown, total-right-unknown)
	for _, cause := range allCauses {
		if perCause[cause] < 2 {
			t.Errorf("%s has %d histories, want at least 2", cause, perCause[cause])
		}
	}
	if right*100 < total*95 {
		t.Errorf("%d of %d right: below 95 %%", right, total)
	}
}

var allCauses = []history.Cause{
	history.LeaseOverrun, history.MisUnlock, history.DoubleGrant, history.ReaderEvicted, history.StaleReentry,
	history.FailoverLoss, history.RestartLoss, history.ClockJump, history.ClockSkew, history.NoExpiry,
	history.NeverGranted, history.AmbiguousReply, history.RenewalGap, history.Resurrection, history.LostWakeup,
	history.Orphan, history.QuorumErosion, history.CauseUnknown,
}

// TestCorpusCauseNeedsEvidence takes from each history the evidence that its cause rests on: no other cause may
// be made up in its place.
func TestCorpusCauseNeedsEvidence(t *testing.T) {
	for _, c := range loadCorpus(t) {
		for name, without := range map[string]func(*corpusCase){
			"faults":   func(c *corpusCase) { c.faults = nil },
			"commands": func(c *corpusCase) { c.commands = nil },
		} {
			less := c
			without(&less)
			for _, want := range c.violations {
				v := want
				got := attribute(&v, less.evidence())
				if got != want.Cause && got != history.CauseUnknown && !excused(c.name, name, got) {
					t.Errorf("%s without %s: %s is made up; with them it is %s", c.name, name, got, want.Cause)
				}
			}
		}
	}
}

// TestEveryPairRuleIsNeeded switches each rule off in turn: some history of the corpus must then get another answer.
func TestEveryPairRuleIsNeeded(t *testing.T) {
	cases := loadCorpus(t)
	for i := range pairRules() {
		missed := 0
		for _, c := range cases {
			for _, want := range c.violations {
				s := sceneOf(&want, c.evidence(), second)
				s.rules = slices.Delete(pairRules(), i, i+1)
				if s.cause(&want) != want.Cause {
					missed++
				}
			}
		}
		if missed == 0 {
			t.Errorf("rule %d of pairRules can be left out and nothing shows it", i)
		}
	}
}

func (c *corpusCase) evidence() *evidence {
	return newEvidence(Input{Header: c.header, Commands: c.commands, Faults: c.faults}, sliceIndex(c.ops))
}

// writeCorpus makes the stored files from the short form.
func writeCorpus(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("testdata/corpus.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := parseCorpus(string(text))
	if err != nil {
		t.Fatalf("testdata/corpus.txt: %v", err)
	}
	if err := os.RemoveAll(corpusDir); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		dir := filepath.Join(corpusDir, c.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, content := range c.files(t) {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (c *corpusCase) files(t *testing.T) map[string][]byte {
	t.Helper()
	var expect, faults, ops, commands bytes.Buffer
	for _, v := range c.violations {
		fmt.Fprintf(&expect, "%s %s %d %d %s\n", v.Property, v.Cause, v.At, v.Lasted, strings.Join(v.Clients, " "))
	}
	w := history.NewWriter(&ops, c.header)
	for i := range c.ops {
		check(t, w.Write(&c.ops[i]))
	}
	cw, err := history.NewCommandWriter(&commands, false)
	check(t, err)
	for i := range c.commands {
		check(t, cw.Write(&c.commands[i]))
	}
	check(t, errors.Join(w.Close(), cw.Close(), history.WriteWindows(&faults, c.faults)))
	return map[string][]byte{
		"history.jsonl":  ops.Bytes(),
		"commands.jsonl": commands.Bytes(),
		"faults.jsonl":   faults.Bytes(),
		"expect":         expect.Bytes(),
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readHistory(t *testing.T, path string) (h history.Header, ops []history.Operation) {
	t.Helper()
	r, err := history.Open(path)
	check(t, err)
	defer r.Close()
	for {
		var op history.Operation
		err := r.Next(&op)
		if errors.Is(err, io.EOF) {
			return r.Header(), ops
		}
		check(t, err)
		ops = append(ops, op)
	}
}

func loadCorpus(t *testing.T) []corpusCase {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(corpusDir, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	for _, dir := range dirs {
		cases = append(cases, loadCase(t, dir))
	}
	return cases
}

func loadCase(t *testing.T, dir string) corpusCase {
	t.Helper()
	c := corpusCase{name: strings.TrimPrefix(dir, corpusDir+"/")}
	c.header, c.ops = readHistory(t, filepath.Join(dir, "history.jsonl"))
	var errs [3]error
	var expect []byte
	c.commands, _, errs[0] = history.LoadCommands(filepath.Join(dir, "commands.jsonl"))
	c.faults, errs[1] = history.LoadWindows(filepath.Join(dir, "faults.jsonl"))
	expect, errs[2] = os.ReadFile(filepath.Join(dir, "expect"))
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(expect)) {
		v := Violation{Key: "job"}
		words := strings.Fields(line)
		if _, err := fmt.Sscan(strings.Join(words[:4], " "), &v.Property, &v.Cause, &v.At, &v.Lasted); err != nil {
			t.Fatalf("%s/expect: %v", dir, err)
		}
		v.Clients = words[4:]
		c.violations = append(c.violations, v)
	}
	return c
}

// excused lists the histories that truly show another violation once the fault that tells it apart is taken away.
func excused(name, without string, got history.Cause) bool {
	return slices.Contains([]string{
		// A client whose clock is ahead takes the lock over: without the skew that was measured, two grants remain.
		"clock-skew/getset-damage faults double-grant",
		"clock-skew/getset-timestamp faults double-grant",
		"clock-skew/rw-hash faults double-grant",
		// Renewals that stopped: only the pause says that they could not have been made.
		"lease-overrun/watchdog-stalled-process faults renewal-gap",
		// The plain lock gives no valid-until, and a waiter's belief counts from its call, unless a command says more.
		"mis-unlock/set-nx-ex-pause commands lease-overrun",
	}, name+" "+without+" "+string(got))
}
