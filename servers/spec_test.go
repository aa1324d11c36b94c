package servers

import (
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
)

func TestSpecFill(t *testing.T) {
	rows := []struct {
		name  string
		spec  Spec
		nodes int
		err   string
	}{
		{"the zero value is one server", Spec{}, 1, ""},
		{"a pair", Spec{Topology: impls.Replicated}, 2, ""},
		{"two replicas", Spec{Topology: impls.Replicated, Nodes: 3}, 3, ""},
		{"a primary alone", Spec{Topology: impls.Replicated, Nodes: 1}, 0, "2 to 16"},
		{"a cluster", Spec{Topology: impls.Cluster}, 3, ""},
		{"five masters by default", Spec{Topology: impls.Independent}, 5, ""},
		{"three masters", Spec{Topology: impls.Independent, Nodes: 3}, 3, ""},
		{"the fixed number", Spec{Topology: impls.Cluster, Nodes: 3}, 3, ""},
		{"another than the fixed number", Spec{Topology: impls.Sentinel, Nodes: 4}, 0, "sentinel has 3"},
		{"a cluster with replicas", Spec{Topology: impls.Cluster, Nodes: 6}, 6, ""},
		{"too many", Spec{Topology: impls.Independent, Nodes: 17}, 0, "1 to 16"},
		{"negative", Spec{Topology: impls.Independent, Nodes: -1}, 0, "1 to 16"},
		{"unknown topology", Spec{Topology: "ring"}, 0, "ring"},
		{"unknown persistence", Spec{Persistence: "sometimes"}, 0, "sometimes"},
		{"negative memory", Spec{MaxMemory: -1}, 0, "negative"},
		{"a path as a name", Spec{Name: "../etc"}, 0, "../etc"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			got, err := row.spec.fill()
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Fatalf("error %v, want one that says %q", err, row.err)
				}
				return
			}
			if err != nil || got.Nodes != row.nodes {
				t.Fatalf("%d nodes, %v; want %d", got.Nodes, err, row.nodes)
			}
			if again, err := got.fill(); err != nil || again != got {
				t.Errorf("filling twice gives %+v, %v", again, err)
			}
		})
	}
}
