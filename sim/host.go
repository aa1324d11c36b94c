package sim

import (
	"cmp"
	"time"

	"github.com/lockbench/lockbench/workloads"
)

// host keeps what outlives a schedule: the nodes.
type host struct {
	sent         int    // commands in the last schedule: about as many as in the next
	again        func() // called when a schedule is repeated
	nodes        []*node
	known        Catalogue
	scripts      map[string]string // names of scripts by digest
	sources      map[string]string // sources of the scripts that clients of any schedule sent, by digest
	echo         func(Choice)      // called with every choice that is not the default, as it is made; may be nil
	reportSlow   func(string)      // called with the state of a schedule that takes long
	endlessAfter time.Duration     // see the constant; tests do not wait so long
}

// newHost returns a host whose programs name variants of a catalogue; nil means none.
func newHost(known Catalogue) *host {
	known = cmp.Or[Catalogue](known, empty{})
	return &host{known: known, scripts: workloads.NameScripts(known.ScriptNames()), sources: map[string]string{},
		reportSlow: func(string) {}, again: func() {}, endlessAfter: endlessAfter}
}

// runner runs one schedule of a program: the host in the simulator, or a world outside.
type runner interface {
	run(p Program, s chooser, b Bounds, keepTrace bool) (Outcome, error)
	catalogue() Catalogue
}

var _ runner = (*host)(nil)

func (h *host) catalogue() Catalogue { return h.known }

func (h *host) close() {
	for _, n := range h.nodes {
		n.Close()
	}
}

// nodesFor returns n nodes. It must be called outside bubbles.
func (h *host) nodesFor(n int) ([]*node, error) {
	for len(h.nodes) < n {
		one, err := newNode(len(h.nodes))
		if err != nil {
			return nil, err
		}
		h.nodes = append(h.nodes, one)
	}
	return h.nodes[:n], nil
}

func (h *host) run(p Program, s chooser, b Bounds, keepTrace bool) (out Outcome, err error) {
	p, err = p.resolve(h.known)
	if err != nil {
		return Outcome{}, err
	}
	w, err := h.newWorld(p, s, b)
	if err != nil {
		return Outcome{}, err
	}
	w.echo, w.trace.keep, w.expected = h.echo, keepTrace, h.sent
	if !w.run(h) {
		h.nodes = nil // they are the abandoned bubble's
		out = w.outcome()
		if out.Unexplorable || out.endless {
			return out, nil
		}
		return out, h.lookForTimers(p, b, &out)
	}
	out = w.outcome()
	out.Store = w.audit()
	h.sent = len(out.Commands)
	return out, nil
}

// newWorld must be called outside bubbles.
func (h *host) newWorld(p Program, s chooser, b Bounds) (*world, error) {
	nodes, err := h.nodesFor(p.Nodes + 1)
	return &world{program: p, strategy: s, bounds: b.withDefaults(p), nodes: nodes, names: h.scripts, sources: h.sources, trace: trace{hash: hashStart}}, err
}
