package fakeredis

import (
	"strings"
	"testing"
	"time"
)

// testNode is an empty node whose clock starts at t.
func testNode(t *testing.T, start time.Time) *Node {
	t.Helper()
	n, err := NewNode()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	n.Reset(start)
	return n
}

// asked sends commands, one per line, over one connection at a time t and returns the text of each
// reply.
func asked(n *Node, t time.Time, lines ...string) []string {
	s := n.NewSession(nil)
	var out []string
	for _, line := range lines {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(string(n.Execute(s, strings.Fields(line), t))), "\r\n", " "))
	}
	return out
}

// setRight sets a node's clock to the true time and rate.
func setRight(n *Node, t time.Time) {
	n.SetRate(t, 1)
	n.Jump(t, -n.clock.Offset)
}

// TestNodeClocks: a lease expires by the node's own clock.
func TestNodeClocks(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	rows := []struct {
		name  string
		upset func(n *Node)
		left  string // of a lease of 1,000 ms, 400 ms after it began
	}{
		{"a true clock", func(*Node) {}, ":600"},
		{"a clock that jumps ahead", func(n *Node) { n.Jump(start, 500*time.Millisecond) }, ":100"},
		{"a jump ahead over the end of the lease", func(n *Node) { n.Jump(start, time.Second) }, ":-2"},
		{"a clock that jumps back", func(n *Node) { n.Jump(start, -500*time.Millisecond) }, ":1100"},
		{"a clock that runs twice as fast", func(n *Node) { n.SetRate(start, 2) }, ":200"},
		{"a clock that runs half as fast", func(n *Node) { n.SetRate(start, 0.5) }, ":800"},
		{"a clock that stands still", func(n *Node) { n.SetRate(start, 0) }, ":1000"},
		{"a rate that changes does not jump", func(n *Node) {
			n.SetRate(start, 2)
			n.SetRate(start.Add(200*time.Millisecond), 1)
		}, ":400"},
		{"a fast clock that is set right", func(n *Node) {
			n.SetRate(start, 2)
			setRight(n, start.Add(200*time.Millisecond))
		}, ":600"},
		{"a clock that is set right after a jump back", func(n *Node) {
			n.Jump(start, -500*time.Millisecond)
			setRight(n, start.Add(200*time.Millisecond))
		}, ":600"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			n := testNode(t, start)
			asked(n, start, "SET k v PX 1000")
			row.upset(n)
			if got := asked(n, start.Add(400*time.Millisecond), "PTTL k")[0]; got != row.left {
				t.Errorf("PTTL %s, want %s", got, row.left)
			}
		})
	}
}

// TestCopyStaysAsItIs: commands after the copy do not change the copy, whatever the type.
func TestCopyStaysAsItIs(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	rows := []struct{ name, before, after, read, want string }{
		{"string", "SET k old", "SET k new", "GET k", "$3 old"},
		{"hash", "HSET k f old", "HSET k f new", "HGET k f", "$3 old"},
		{"list", "RPUSH k old", "RPUSH k new", "LLEN k", ":1"},
		{"set", "SADD k old", "SADD k new", "SCARD k", ":1"},
		{"sorted set", "ZADD k 1 old", "ZADD k 2 new", "ZCARD k", ":1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			n := testNode(t, start)
			asked(n, start, row.before)
			kept := n.Copy(start)
			asked(n, start, row.after)
			n.Load(kept, start)
			if got := asked(n, start, row.read)[0]; got != row.want {
				t.Errorf("%s after the copy came back: %q, want %q", row.read, got, row.want)
			}
		})
	}
}
