package locktest

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// TestCasesAreCovered: C1 to C26, each by a rule, or by what is named beside it.
func TestCasesAreCovered(t *testing.T) {
	rules := map[string][]string{}
	for _, r := range Rules() {
		for _, c := range strings.Fields(r.Cases) {
			rules[c] = append(rules[c], r.Name)
		}
		if r.Cases == "" {
			t.Errorf("rule %s is of no case", r.Name)
		}
	}
	for i, c := range Cases() {
		if want := fmt.Sprint("C", i+1); c.ID != want {
			t.Errorf("case no. %d is called %s", i+1, c.ID)
		}
		if len(rules[c.ID]) == 0 && c.Elsewhere == "" {
			t.Errorf("%s is tried nowhere: %s", c.ID, c.Sentence)
		}
		delete(rules, c.ID)
	}
	if n := len(Cases()); n != 26 {
		t.Errorf("%d cases, want C1 to C26", n)
	}
	for c, names := range rules {
		t.Errorf("rules %q are of %s, which is no case", names, c)
	}
}

// TestRulesAreDocumented: go doc lists every rule with its sentence, in order.
func TestRulesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "doc.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, r := range Rules() {
		fmt.Fprintf(&list, "  - %s (%s): %s\n", r.Name, r.Cases, r.Sentence)
	}
	if !strings.Contains(f.Doc.Text(), list.String()) {
		t.Errorf("the package comment does not list the rules like this:\n%s", list.String())
	}
}
