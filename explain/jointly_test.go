package explain

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestWhatWasLeftOutTogetherIsNamed: each finding names what was left out with it; of more than five others the first four by name.
func TestWhatWasLeftOutTogetherIsNamed(t *testing.T) {
	for _, row := range []struct {
		events []string
		want   string // what the second says
	}{
		{[]string{"a", "b"}, "b and a"},
		{[]string{"a", "b", "c"}, "b, a and c"},
		{[]string{"a", "b", "c", "d", "e"}, "b, a, c, d and e"},
		{[]string{"a", "b", "c", "d", "e", "f"}, "b, a, c, d, e and f"},
		{[]string{"a", "b", "c", "d", "e", "f", "g"}, "b, a, c, d, e and 2 other events"},
	} {
		var all []finding
		for _, e := range row.events {
			all = append(all, finding{node: expiring(e)})
		}
		if got := textOf(jointly(all)[1]); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// TestTheSameAtSeveralNodesIsNamedOnce: the end of one lease, or one fault, at several nodes is one finding with others.
func TestTheSameAtSeveralNodesIsNamedOnce(t *testing.T) {
	deleted := &history.Effect{What: history.Deleted}
	lost := func(fault int) *node { return &node{events: []event{{effect: deleted}}, index: fault} }
	for _, row := range []struct {
		found []finding
		want  string // what the first says
	}{
		// One lease that ended at three nodes.
		{[]finding{{node: expiring("a"), places: []int{2}}, {node: expiring("a"), places: []int{0}}, {node: expiring("a"), places: []int{1}}}, "a at nodes 0, 1 and 2"},
		// Two keys of one node.
		{[]finding{{node: expiring("a"), places: []int{0}}, {node: expiring("b"), places: []int{0}}}, "a at node 0 and b at node 0"},
		// One fault at two nodes, and another of the same kind.
		{[]finding{{node: lost(0), places: []int{0}}, {node: lost(1), places: []int{1}}, {node: lost(2), places: []int{2}, fault: 1}},
			"the deletion by an operator at nodes 0 and 1 and the deletion by an operator at node 2"},
	} {
		if got := textOf(jointly(row.found)[0]); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}

// expiring returns a node at which a key expired.
func expiring(key string) *node {
	return &node{events: []event{{changes: []change{{key: key, before: &Value{}}}}}}
}

// textOf returns the text of a finding without times.
func textOf(f finding) string {
	text := f.text().Text(func(part any) string {
		if key, ok := part.(Key); ok {
			return string(key)
		}
		return ""
	})
	return strings.NewReplacer("the expiry of ", "", " at ,", ",", " at  and", " and").Replace(strings.TrimSuffix(text, " at "))
}
