package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// searchRows are histories in which each refusal has a witness, so that the sweep finds nothing, but no order gives all of them theirs.
var searchRows = []row{
	// The writer d came after b, which came after the refusal.
	{name: "shared: the writer came later", rule: "search", head: history.Header{Kind: history.RW}, ops: `
		d acquire 2 20 ok
		a acquire 5 6 busy shared
		b acquire 7 8 ok shared
		b release 9 10 ok shared`},
	// With c's permit, a's and b's the lock would have been more than full.
	{name: "permits: the permit came later", rule: "search", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
		c acquire 0 1 ok
		a acquire 2 20 ok
		d acquire 5 6 busy
		b acquire 7 8 ok
		b release 9 10 ok`},
	// The same for the search as a whole, the second opinion on every kind.
	{name: "shared: refused before the writer", rule: "search", head: history.Header{Kind: history.RW}, ops: `
		d acquire 2 20 ok
		a acquire 5 6 busy
		b acquire 7 8 ok
		b release 9 10 ok`},
}

// TestSearchDecides: a violation that only the search sees breaks linearizability and fails the verdict.
func TestSearchDecides(t *testing.T) {
	for _, r := range searchRows {
		t.Run(r.name, func(t *testing.T) {
			if v := r.check(t); v.Verdict != Fail || v.property(verdicts.Linearizability).Violations != 1 {
				t.Errorf("%s, %q, %+v", v.Verdict, broken(v), v.property(verdicts.Linearizability))
			}
			v := r.check(t, "executions")
			if v.Verdict != Fail || v.property(verdicts.Linearizability).Violations != 1 || broken(v) != "" {
				t.Errorf("%s, %q, %+v", v.Verdict, broken(v), v.property(verdicts.Linearizability))
			}
			if v := r.check(t, "executions", r.rule); v.property(verdicts.Linearizability).Verdict == Fail {
				t.Errorf("without the rule %s it is seen all the same", r.rule)
			}
		})
	}
}

// TestSearchFindsTheOrder: histories that look like violations and are legal.
func TestSearchFindsTheOrder(t *testing.T) {
	for _, r := range []row{
		// Both lost acquires are a's: the first, shared, kept the writer out, and the second kept everyone out.
		{name: "shared: a lost upgrade", head: history.Header{Kind: history.RW}, ops: `
			a acquire 0 4 unknown shared
			a acquire 8 8 unknown
			b acquire 7 7 busy
			b acquire 11 11 busy shared`},
		// The release, which may not have taken effect, keeps c out for ever.
		{name: "permits: a lost release", head: history.Header{Kind: history.Semaphore, Permits: 2}, ops: `
			a acquire 0 1 ok
			b acquire 2 3 ok
			a release 4 5 unknown
			c acquire 900 901 busy`},
		// The hold that the lost release ended is open, as nobody was told its end: the last reply may mean it.
		{name: "a reply without a token, after a lost release", head: history.Header{Kind: history.Mutex}, ops: `
			a acquire 1 2 ok
			a release 5 6 unknown
			a acquire 7 8 ok
			a release 9 10 not_held`},
	} {
		t.Run(r.name, func(t *testing.T) {
			if v := r.check(t); v.property(verdicts.Linearizability).Verdict != Pass || broken(v) != "" {
				t.Errorf("%q, %+v", broken(v), v.property(verdicts.Linearizability))
			}
		})
	}
}

// TestASearchThatWasGivenUp: each reply has an execution with what is near it, but all together have none. A search of all that may try few effects decides
// nothing.
func TestASearchThatWasGivenUp(t *testing.T) {
	r := row{head: history.Header{Kind: history.Semaphore, Permits: 3, Lease: 12 * msec}, ops: `
		e acquire 10 14 ok asked=10 token=t2
		b acquire 10 15 ok asked=10 token=t1
		a acquire 12 17 ok asked=12 token=t4
		c acquire 19 26 busy
		d acquire 21 26 ok token=t112
		a acquire 22 26 ok asked=22 token=t8
		b extend 25 27 lost token=t1
		b acquire 29 32 ok asked=29 token=t10
		c acquire 28 33 ok asked=28 token=t9
		d acquire 30 35 busy`}
	if p := r.check(t).property(verdicts.Linearizability); p.Verdict != Fail {
		t.Errorf("%+v", p)
	}
	r.opt.tried = 100
	if p := r.check(t).property(verdicts.Linearizability); p.Verdict != Inconclusive || p.Note != "a search of all operations together was given up" {
		t.Errorf("with few effects tried: %+v", p)
	}
}

// TestNotSearched: a window that is too long is counted. If the sweep decides its refusals, only a second opinion is missing; if not, the verdict is
// inconclusive.
func TestNotSearched(t *testing.T) {
	for _, c := range []struct {
		kind history.Kind
		want Result
	}{{history.Mutex, Pass}, {history.Reentrant, Inconclusive}} {
		ops := "z acquire 0 1 ok\nz release 2 3 ok\ny acquire 5 6 ok\ny release 7 900 ok\n" // a window of its own, and one with a long release
		for i := range maxWindow + 1 {
			ops += fmt.Sprintf("x acquire %f %f busy\n", 8+float64(i)/10, 8.05+float64(i)/10)
		}
		v := row{head: history.Header{Kind: c.kind}, ops: ops}.check(t)
		p := v.property(verdicts.Linearizability)
		if v.Verdict != c.want || p.Verdict != c.want || v.NotSearched != 1 || !strings.HasPrefix(p.Note, "1 of 2 windows searched") {
			t.Errorf("%s: %s, %d not searched, %+v", c.kind, v.Verdict, v.NotSearched, p)
		}
	}
}

// TestEveryRuleHasARow reads the names of the rules from the checker's source: every rule needs a history that fails without it, and every property
// one that breaks it.
func TestEveryRuleHasARow(t *testing.T) {
	tested, broken := map[string]bool{}, string(verdicts.Linearizability)
	for _, r := range append(rows(), searchRows...) {
		tested[r.rule] = true
		broken += " " + r.want
	}
	named := regexp.MustCompile(`(?:\.obeys|\.report)\("([a-z-]+)"`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllSubmatch(text, -1) {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			if found++; !tested[string(m[1])] && string(m[1]) != "executions" { // that one selects one of two ways to decide
				t.Errorf("%s: no row needs the rule %s", file, m[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d rules were found in the source", found)
	}
	for _, p := range order {
		if p != verdicts.Hygiene && !strings.Contains(broken, string(p)) { // a history does not show that one
			t.Errorf("no row breaks %s", p)
		}
	}
}
