package verdicts

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// TestListsAreComplete: the lists have every property and cause that is declared.
func TestListsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, p := range Properties() {
		known["Property "+string(p)] = true
	}
	for _, c := range Causes() {
		known["Cause "+string(c)] = true
	}
	n := 0
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok {
			return true
		}
		n++
		word, _ := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if name := spec.Type.(*ast.Ident).Name + " " + word; !known[name] {
			t.Errorf("the lists lack the %s", name)
		}
		return true
	})
	if n != len(known) {
		t.Errorf("%d names, want %d", len(known), n)
	}
}
