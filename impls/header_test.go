package impls_test

import (
	"testing"

	"github.com/lockbench/lockbench/impls"
)

// TestHeaderSaysQuorum: how many nodes must grant a lock is what the lock says of itself.
func TestHeaderSaysQuorum(t *testing.T) {
	for _, row := range []struct {
		name   string
		v      impls.Variant
		on     impls.Topology
		nodes  int
		quorum int
	}{
		{"one server", impls.Variant{Topology: impls.Standalone}, impls.Standalone, 1, 0},
		{"a cluster, in which one node has the key", impls.Variant{Topology: impls.Cluster}, impls.Cluster, 3, 0},
		{"a majority", impls.Variant{Topology: impls.Independent}, impls.Independent, 5, 3},
		{"of an even number", impls.Variant{Topology: impls.Independent}, impls.Independent, 4, 3},
		{"all", impls.Variant{Topology: impls.Independent, Quorum: 5}, impls.Independent, 5, 5},
		{"masters, and it runs on a cluster", impls.Variant{Topology: impls.Independent}, impls.Cluster, 6, 0},
	} {
		if h := row.v.Header(1, row.on, row.nodes); h.Quorum != row.quorum {
			t.Errorf("%s: quorum %d, want %d", row.name, h.Quorum, row.quorum)
		}
	}
}
