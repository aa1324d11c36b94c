package locktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A rule that is kept by a lock that does nothing, or whose fault strikes nothing, is not judged.
func TestRulesThatReachNothing(t *testing.T) {
	for _, row := range []struct {
		name  string
		check func(*trial)
		says  string
	}{
		{"a grant is enough", play(a.holds()), ""},
		{"nobody is granted the lock", func(c *trial) { c.at(a) }, "under it there was never a grant"},
		{"a fault that strikes", func(c *trial) { c.at(a).wires.dropRequests(1); c.play(a.asks(), a.holds()) }, ""},
		{"a fault that strikes nothing", func(c *trial) { c.play(a.holds()); c.at(a).wires.loseReplies(1) }, "under it there was never a lost reply"},
		{"a node that nobody asks", func(c *trial) { c.play(a.holds()); c.at(a).wires.afflict(hanging, c.nodes) }, "under it there was never a node that is hanging"},
		{"a connection that breaks", func(c *trial) { c.play(a.holds()); c.at(a).wires.afflict(down, c.nodes) }, ""},
	} {
		var got result
		cfg := configure(nil)
		in := &inspector{t: t, cfg: cfg, make: cfg.maker(newTestLock(func(*lock) {})), job: job{Patient: 1000}, tell: func(message) {}}
		in.inBubble(rule{name: "a rule", check: row.check}, func(res result) { got = res })
		if got.Unjudged != row.says || len(got.Problems) > 0 {
			t.Errorf("%s: %+v, want %q", row.name, got, row.says)
		}
	}
}

// What a run never reached are rules, with the reason, and faults that struck under none of them.
func TestARunSaysWhatItNeverReached(t *testing.T) {
	cfg := configure([]Option{Only("excludes", "dead-reader", "readers-share", "permits", "lost-grant")})
	s := &supervisor{cfg: cfg, results: map[string]result{
		"excludes": {Reached: map[string]int{aGrant: 1, lostReply: 0}}, "dead-reader": {Skip: "it has no readers"},
		"readers-share": {Skip: "it has no readers"}, "permits": {Unjudged: "keys not found"}, "lost-grant": {Reached: map[string]int{lostReply: 0, lostRequest: 1}},
	}}
	want := []string{"a lost reply", "permits (keys not found)"}
	got := s.neverReached()
	if len(got) != 3 || !strings.HasSuffix(got[1], "(it has no readers)") || !slices.Equal([]string{got[0], got[2]}, want) {
		t.Errorf("never reached %q", got)
	}
}

// Of lines that differ in names and numbers only, whatever the names are, a message has three.
func TestFewOfEach(t *testing.T) {
	var lines []string
	for _, name := range []string{"job", "a b", "x\t", "x\n", "x\"y", `x\y`, "\xff"} {
		lines = append(lines, fmt.Sprintf("a.TryLock(%q): refused after 3ms\n\tat a place", name))
	}
	want := []string{lines[0], lines[1], lines[2], "another thing", "(and 4 more lines like these)"}
	if got := fewOfEach(slices.Insert(lines, 3, "another thing")); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
