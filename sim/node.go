package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/fakeredis"
)

// newNode makes a node. It must be called outside every bubble.
func newNode(index int) (*node, error) {
	n, err := fakeredis.NewNode()
	return &node{Node: n, index: index}, err
}

// reset empties the node for a new world that starts at t.
func (n *node) reset(t time.Time) {
	n.Reset(t)
	*n = node{Node: n.Node, index: n.index, kept: n.kept, had: n.had}
}

// copy returns all data of the node at bubble time t.
func (n *node) copy(t time.Time) dataset { return dataset{n.Copy(t), n.turn} }

// lostTo returns the keys of d, split by whether later has them.
func (d dataset) lostTo(later dataset) (kept, lost []string) {
	for _, key := range slices.Sorted(maps.Keys(d.data)) {
		if later.data[key] != nil {
			kept = append(kept, key)
		} else {
			lost = append(lost, key)
		}
	}
	return kept, lost
}

// nodeName returns the name of a node in tapes and traces.
func nodeName(i int) string { return "n" + strconv.Itoa(i+1) }

// nodeAddr returns the address of a node for clients: an IP literal, because a host name would
// start a resolver.
func nodeAddr(i int) string { return nodeNet + strconv.Itoa(i+1) + nodePort }

const (
	nodeNet  = "127.0.0."
	nodePort = ":6379"
)

// nodeOf returns the node to which an address leads.
func nodeOf(addr string) (int, error) {
	number, ok := strings.CutPrefix(addr, nodeNet)
	number, of := strings.CutSuffix(number, nodePort)
	i, err := strconv.Atoi(number)
	if !ok || !of || err != nil {
		return 0, fmt.Errorf("address %s is not one of this world", addr)
	}
	return i - 1, nil
}

type simAddr string

func (simAddr) Network() string { return "sim" }

func (a simAddr) String() string { return string(a) }
