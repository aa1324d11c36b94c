package history

import "strconv"

// Node is the number of a node in a record, from 0. People count nodes from 1.
type Node int

// String returns the name that scenarios, stories and pages use: "node 1" is the first.
func (n Node) String() string { return "node " + strconv.Itoa(int(n)+1) }
