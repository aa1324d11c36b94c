package sim

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/impls"
)

// probe follows choices and hashes the state after the last one.
type probe struct {
	follow
	state uint64
	known bool
}

func (p *probe) choose(m moves) option {
	if len(p.choices) == 0 && !p.known {
		p.state, p.known = m.state()
	}
	return p.follow.choose(m)
}

// TestStatesApart: a difference in one thing alone makes two states.
func TestStatesApart(t *testing.T) {
	cases := []struct {
		lock string
		a, b string
	}{
		{"redlock", "partition-nodes n1 1.5s", "partition-nodes n2 1.5s"},
		{"redlock", "kill-server n1 100ms", "kill-server n2 100ms"},
		{"redlock", "pause-server n1 1.5s", "pause-server n2 1.5s"},
		{"redlock", "jump-clock n1 2s", "jump-clock n2 2s"},
		{"redlock", "lose-request c1-n1 SET#1", "lose-request c1-n2 SET#1"},
		{"redlock", "delay-request c1-n1 SET#1 1.5s", "delay-request c1-n2 SET#1 1.5s"},
		{"redlock", "request c1-n1 SET#1", "request c1-n2 SET#1"},
		{"token", "pause-client c1 1.5s", "pause-client c2 1.5s"},
		{"token", "blackhole-client c1 1.5s", "blackhole-client c2 1.5s"},
		{"token", "crash-client c1", "crash-client c2"},
		{"token", "cancel-client c1", "cancel-client c2"},
		{"token", "pause-client c1 1.5s", "pause-client c1 until other-entered"},
		{"token", "flush-scripts n1", "delete-key n1"},
		{"token", "wait", "request c1-n1 SET#1"},
	}
	h := newSimulator(t)
	for _, c := range cases {
		t.Run(c.a+" and "+c.b, func(t *testing.T) {
			var states []uint64
			for _, do := range []string{c.a, c.b, c.a} {
				p := program(t, c.lock, "hot", 1)
				p.Config.AcquireWait = 0
				if c.lock == "redlock" {
					p.Nodes, p.Topology = 2, impls.Independent
				}
				s := &probe{follow: follow{choices: []Choice{{Do: do}}}}
				out := simulate(t, h, p, s, Bounds{Faults: slices.DeleteFunc(Placeable(), IsStanding), MaxFaults: 1, MaxWaits: 1, Instant: true})
				if s.missed > 0 || !s.known {
					t.Fatalf("%q could not be chosen; it sends %v", do, out.commandNames())
				}
				states = append(states, s.state)
			}
			if states[0] == states[1] {
				t.Error("one state")
			}
			if states[0] != states[2] {
				t.Error("the same schedule gives two states")
			}
		})
	}
}
