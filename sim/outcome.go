package sim

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

func (w *world) outcome() Outcome {
	p, out := w.program, w.out
	out.Program = p
	out.Header, out.Scripts, out.Windows = p.Variant.Header(int64(p.Config.Lease), p.Topology, len(w.lockNodes())), w.sources, w.director.Windows()
	out.Steps, out.Hash, out.Trace = w.step, w.trace.hash, w.trace.lines
	out.Header.Permits, out.Header.Epoch = p.Permits, w.start.UnixNano()
	if f, ok := w.strategy.(*follow); ok {
		out.Missed = f.missed + len(f.choices)
	}
	for _, n := range w.nodes {
		out.Lacking = cmp.Or(out.Lacking, n.Lacking())
	}
	for _, c := range w.clients {
		out.Ops = append(out.Ops, c.ops...)
		if c.err != nil && !errors.Is(c.err, impls.ErrCrashed) {
			out.Errors = append(out.Errors, c.name+": "+c.err.Error())
		}
	}
	for i := range out.Ops {
		op := &out.Ops[i]
		op.ID = uint64(i) + 1
		// Where events take no time, an attempt began at the beginning of its instant, as clocks do
		// not tell its requests and replies apart.
		if w.bounds.Instant && op.WasAsked() {
			began := op.Call
			for _, at := range w.instants {
				if at <= op.Asked {
					began = max(began, at)
				}
			}
			op.SetAsked(began)
		}
	}
	out.Commands = w.commands()
	history.LinkCommands(out.Ops, out.Commands)
	out.Effects = linked(w.effects, out.Commands)
	effects := out.Effects
	if effects == nil { // none changed anything
		effects = []history.Executed{}
	}
	history.Settle(out.Ops, out.Commands, effects)
	return out
}

// commands merges the clients' commands by the time they were sent, those of one instant by client
// and node, in the node's order, and those that it did not execute by content.
func (w *world) commands() []history.Command {
	all := make([]history.Command, 0, w.sent)
	for _, c := range w.clients {
		all = append(all, c.commands...)
	}
	slices.SortStableFunc(all, func(a, b history.Command) int {
		if a.Sent != b.Sent {
			return cmp.Compare(a.Sent, b.Sent)
		}
		return cmp.Or(cmp.Compare(len(a.Client), len(b.Client)), cmp.Compare(a.Client, b.Client), cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Turn-1, b.Turn-1), cmp.Compare(a.Name, b.Name), slices.Compare(a.Args, b.Args)) // no turn comes last
	})
	return all
}

// directStore accesses the guarded store without the network, for filling and auditing it.
type directStore struct{ node *node }

func (s directStore) name(key string) string { return workloads.StorePrefix(keyPrefix) + key }

// Read returns the value of a key, which has no version unless a client wrote it.
func (s directStore) Read(_ context.Context, key string, _ uint64) (out workloads.Stored, err error) {
	text := s.node.Field(s.name(key), "value")
	if text == "" { // a missing key is the value 0
		return out, nil
	}
	out.Value, err = strconv.ParseInt(text, 10, 64)
	return out, err
}

func (s directStore) Write(_ context.Context, key string, value int64, _ uint64) (uint64, error) {
	s.node.SetField(s.name(key), "value", strconv.FormatInt(value, 10), time.Now())
	return 0, nil
}

// Without says that a lock did without something that it requested; see [Outcome.Lacking]. That is
// no evidence of how it behaves with it.
func Without(lock, lacking string) string {
	return lock + " asks for " + lacking + ", which the simulator does not have: it was run as it goes on without"
}
