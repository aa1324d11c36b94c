package story

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/fakeredis"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// Bounds on the events of a story: it shows what led to the violation, not everything that
// happened.
const (
	enough = 4  // beyond, only what the story needs
	most   = 10 // at all
)

// Tell writes the stories and drawings of a verdict's violations, whose causes were found. A
// violation without surroundings gets none.
func Tell(v *checker.Verdict, found explain.Findings, commands []history.Command) {
	sent := map[uint64][]*history.Command{} // in the operations around the violations
	for _, x := range v.Violations {
		if x.Around == nil {
			continue
		}
		for _, op := range x.Around.Operations {
			sent[op.ID] = nil
		}
		for _, h := range x.Around.Holds {
			for _, op := range h.Operations() {
				sent[op.ID] = nil
			}
		}
	}
	for i := range commands {
		c := &commands[i]
		if _, wanted := sent[c.Op]; wanted && c.Node >= 0 && !upstream.Handshake(c.Name) && !strings.HasSuffix(c.Name, "SUBSCRIBE") {
			sent[c.Op] = append(sent[c.Op], c)
		}
	}
	for i := range v.Violations {
		x := &v.Violations[i]
		if x.Around == nil {
			continue
		}
		t := &narrator{v: x, around: x.Around, answer: found.Answers[i], when: found.Granted, sent: sent}
		t.choose()
		t.span()
		t.narrate()
		x.Story, x.Lanes = t.lines(), t.draw()
	}
	v.CountCauses()
}

// choose picks the holds of the story: those of the witness, those whose clients sent the answer's
// commands, and those that these hit.
func (t *narrator) choose() {
	t.holds = slices.Clone(t.v.Witness.Holds)
	for i := range t.answer.Events {
		switch e := &t.answer.Events[i]; {
		case e.NoCommand:
			t.add(t.outermost(e.Op))
		case e.Command == nil:
		case t.grants(e):
			t.add(t.lastHold(e.Op.Client, e.Op.Return))
		default:
			t.add(t.lastHold(e.Command.Client, e.Command.Sent))
			t.add(t.lastHold(e.Holder, e.At))
		}
	}
	for _, h := range slices.Clone(t.holds) {
		if h.Reentry {
			t.add(t.outermost(&h.Acquire))
		}
	}
	slices.SortStableFunc(t.holds, func(a, b checker.Hold) int { return cmp.Compare(t.began(&a), t.began(&b)) })
}

func (t *narrator) add(h *checker.Hold) {
	if h != nil && !slices.ContainsFunc(t.holds, func(o checker.Hold) bool { return o.Acquire == h.Acquire }) {
		t.holds = append(t.holds, *h)
	}
}

// span finds the first and the last instant of the story.
func (t *narrator) span() {
	t.base, t.to = t.v.At, t.v.At+t.v.Lasted
	if t.endless() {
		t.to = t.v.At
		for _, op := range t.around.Operations {
			t.to = max(t.to, op.Return)
		}
	}
	for i := range t.holds {
		t.base = min(t.base, t.began(&t.holds[i]))
	}
	for _, e := range t.answer.Events {
		t.base, t.to = min(t.base, e.At), max(t.to, e.At)
	}
	for _, op := range t.v.Witness.Operations {
		if t.stuck() || op.Outcome == history.Unknown {
			t.base = min(t.base, op.Call)
		}
	}
	t.shown = t.listed()
	for _, op := range t.shown {
		t.base = min(t.base, op.Call)
	}
	for _, part := range t.answer.Says {
		if at, ok := part.(explain.Instant); ok {
			t.base = min(t.base, int64(at))
		}
	}
}

// lines returns the story: what was broken, the events in order, and the cause. Optional events, the
// last first, are left out until there are few enough.
func (t *narrator) lines() []string {
	slices.SortStableFunc(t.events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	events := slices.CompactFunc(t.events, func(a, b event) bool { return a.text == b.text })
	for i := len(events) - 1; i >= 0 && len(events) > enough; i-- {
		if !events[i].needed {
			events = slices.Delete(events, i, i+1)
		}
	}
	from := ""
	if t.base >= milli {
		from = fmt.Sprintf("; times count from %.3f s", float64(t.base)/float64(second))
	}
	out := []string{fmt.Sprintf("%s broken: %s (%s)%s", t.v.Property, t.broken(), t.v.Cause, from)}
	for _, e := range events[:min(len(events), most)] {
		out = append(out, e.text)
	}
	return append(out, t.answer.Says.Text(func(part any) string {
		switch part := part.(type) {
		case explain.Instant:
			return t.ms(int64(part))
		case explain.Name:
			return shortened(string(part))
		case explain.Key:
			return quoted(string(part))
		}
		return ""
	}))
}

// Explainer finds the causes of violations on an embedded server, and tells them. It starts the
// server when first needed: a start takes as long as a short record. The zero value is ready; the
// caller closes it.
type Explainer struct{ server *fakeredis.Server }

// Close ends the server.
func (x *Explainer) Close() {
	if x.server != nil {
		x.server.Close()
	}
}

func (x *Explainer) start() (err error) {
	if x.server == nil {
		x.server, err = fakeredis.New()
	}
	return err
}

// Explain finds the causes of a verdict's violations, and adds their stories unless the check was
// bare. Errors are miniredis' and the context's.
func (x *Explainer) Explain(ctx context.Context, v *checker.Verdict, rec explain.Record) (found explain.Findings, err error) {
	if len(v.Violations) == 0 {
		return explain.Findings{}, nil
	}
	if err := x.start(); err != nil {
		return found, err
	}
	if found, err = explain.Verdict(ctx, v, rec, x.server); err != nil {
		return found, err
	}
	Tell(v, found, rec.Commands)
	return found, nil
}

// Derive works out what the commands of a record changed, for a record without effects. An error is
// miniredis'.
func (x *Explainer) Derive(ctx context.Context, rec explain.Record) ([]history.Executed, error) {
	if err := x.start(); err != nil {
		return nil, err
	}
	return explain.Derive(ctx, rec, x.server), nil
}
