package story

import (
	"fmt"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/plain"
	"github.com/lockbench/lockbench/verdicts"
)

// narrate collects the events of the story.
func (t *narrator) narrate() {
	for i := range t.holds {
		t.sayHold(&t.holds[i])
	}
	for i := range t.answer.Events {
		t.sayEvent(&t.answer.Events[i])
	}
	t.sayFaults()
	switch t.v.Property {
	case verdicts.MutualExclusion, verdicts.Linearizability:
		t.sayMeeting()
	case verdicts.Hygiene:
		t.say(t.v.At, 9, true, "left behind: "+plain.Text(t.v.Witness.Leftover))
	}
	for i := range t.shown {
		t.sayOperation(&t.shown[i])
	}
}

// sayHold adds a grant, the end of the client's belief, a loss notice, the release and the extends.
func (t *narrator) sayHold(h *checker.Hold) {
	if h.Start() > t.to {
		return
	}
	client := shortened(h.Client)
	if t.unasked(h) {
		t.say(h.Start(), 1, true, fmt.Sprintf("%s re-entered at %s without a request to the server", client, t.ms(h.Start())))
		return
	}
	t.say(h.Start(), 1, true, fmt.Sprintf("%s was granted %s at %s%s (%s)", client, quoted(t.v.Key), t.ms(h.Start()), t.means(h), t.terms(h)))
	if end := h.End(); end <= t.v.At && h.LatestEnd <= end && !t.endedBy(h, end) {
		t.say(end, 2, true, fmt.Sprintf("the lease of %s ended at %s, when it was due", client, t.ms(end)))
	}
	if h.Lost != 0 && h.Lost <= t.to {
		t.say(h.Lost, 3, false, fmt.Sprintf("the lock reported to %s at %s that its hold was lost", client, t.ms(h.Lost)))
	}
	if r := h.Release; r != nil && r.Call <= t.v.At && !t.covered(r) {
		t.say(r.Call, 4, t.stuck(), fmt.Sprintf("%s called release at %s: %s%s", client, t.ms(r.Call), r.Outcome, t.commandsOf(r)))
	}
	t.sayExtends(h)
}

// endedBy reports whether something other than the lease ended the client's belief at an instant: a crash, its release, a loss notice, a refused extend.
func (t *narrator) endedBy(h *checker.Hold, end int64) bool {
	died := slices.ContainsFunc(t.around.Faults, func(w history.Window) bool { return w.Client == h.Client && w.Start == end })
	return died || h.Release != nil && h.Release.Call <= end || h.Lost != 0 && h.Lost <= end ||
		slices.ContainsFunc(h.Extends, func(x history.Operation) bool { return x.Return == end && x.Outcome != history.OK })
}

// unasked reports whether, by the answer, a hold was granted without a request to a server.
func (t *narrator) unasked(h *checker.Hold) bool {
	return slices.ContainsFunc(t.answer.Events, func(e explain.Event) bool { return e.NoCommand && same(e.Op, &h.Acquire) })
}

// same reports whether two records are of one operation. It does not compare IDs, which need not be unique in a foreign file.
func same(a, b *history.Operation) bool {
	return a.Client == b.Client && a.Op == b.Op && a.Call == b.Call && a.Return == b.Return
}

// covered reports whether a line for a command of the answer already shows an operation.
func (t *narrator) covered(op *history.Operation) bool {
	return slices.ContainsFunc(t.answer.Events, func(e explain.Event) bool { return e.Command != nil && e.Op != nil && same(e.Op, op) })
}

// means returns how a hold was granted, if the answer depends on that.
func (t *narrator) means(h *checker.Hold) string {
	for _, e := range t.answer.Events {
		switch {
		case !e.Granted || e.Op == nil || !same(e.Op, &h.Acquire):
		case e.Votes[1] > 0:
			return fmt.Sprintf(" on %d of %d nodes", e.Votes[0], e.Votes[1])
		case e.Command != nil:
			return " with " + command(e.Command)
		}
	}
	return ""
}

// terms returns the lease, mode and fence of a grant.
func (t *narrator) terms(h *checker.Hold) string {
	text := "no lease"
	if t.around.Header.Lease > 0 {
		text = "lease " + span(t.around.Header.Lease)
	}
	if h.Mode == history.Shared {
		text += ", shared"
	}
	if h.Fence > 0 {
		text += fmt.Sprintf(", fence %d", h.Fence)
	}
	const late = 10 * milli
	if asked := h.Acquire.Asked; asked != 0 && h.Start()-asked > late {
		text += "; this try began " + span(h.Start()-asked) + " earlier"
	}
	return text
}

func (t *narrator) sayExtends(h *checker.Hold) {
	granted, last := 0, int64(0)
	for i := range h.Extends {
		x := &h.Extends[i]
		switch {
		case x.Call > t.to || t.covered(x):
		case x.Outcome == history.OK:
			granted, last = granted+1, x.Call
		default:
			t.say(x.Call, 5, false, fmt.Sprintf("%s tried to renew at %s: %s", shortened(h.Client), t.ms(x.Call), x.Outcome))
		}
	}
	switch granted {
	case 0:
	case 1:
		t.say(last, 5, true, fmt.Sprintf("at %s %s was told that its lease was renewed", t.ms(last), shortened(h.Client)))
	default:
		t.say(last, 5, true, fmt.Sprintf("%s was told %d times that its lease was renewed, the last time at %s", shortened(h.Client), granted, t.ms(last)))
	}
}

// sayEvent adds a command of the answer, and whose hold it changed.
func (t *narrator) sayEvent(e *explain.Event) {
	if e.Command == nil || e.Granted {
		return
	}
	verb := "sent, in the background,"
	if e.Op != nil {
		verb = map[history.Op]string{history.Release: "released with", history.Extend: "renewed with", history.Acquire: "tried to acquire with"}[e.Op.Op]
	}
	t.say(e.At, 3, true, fmt.Sprintf("at %s %s %s %s%s", t.ms(e.At), shortened(e.Command.Client), verb, command(e.Command), hit(e)))
}

// hit returns what a command did to the key, and whose key it was.
func hit(e *explain.Event) string {
	whose := "its own"
	if e.Holder != "" {
		whose = shortened(e.Holder) + "'s"
	}
	switch e.Hit {
	case explain.Freed:
		return ": the key it deleted was " + whose
	case explain.Renewed:
		return ": the key it renewed was " + whose
	case explain.Made:
		return ": it created the key"
	case explain.Changed:
		return ": the key it changed was " + whose
	}
	return ""
}

// sayFaults adds the faults that hit the story's clients, a server or the network during the story.
func (t *narrator) sayFaults() {
	for i := range t.around.Faults {
		w := &t.around.Faults[i]
		if w.Start <= t.to && w.Last() >= t.base && t.matters(w) {
			t.say(max(w.Start, t.base), 2, w.Client != "" || t.did(w) != nil, t.fault(w))
		}
	}
}

// did returns the effect of a fault that the answer names; nil: none.
func (t *narrator) did(w *history.Window) *explain.Event {
	for i := range t.answer.Events {
		e := &t.answer.Events[i]
		if e.Effect != nil && slices.ContainsFunc(w.Effects, func(o history.Effect) bool {
			return o.At == e.Effect.At && o.What == e.Effect.What && o.Node == e.Effect.Node
		}) {
			return e
		}
	}
	return nil
}

func (t *narrator) matters(w *history.Window) bool {
	return w.Client == "" || slices.Contains(t.clients(), w.Client)
}

// clients returns the clients of the story in order of appearance.
func (t *narrator) clients() (out []string) {
	add := func(c string) {
		if c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	for _, h := range t.holds {
		add(h.Client)
	}
	for _, e := range t.answer.Events {
		if e.Command != nil {
			add(e.Command.Client)
		}
	}
	for _, c := range t.v.Clients {
		add(c)
	}
	return out
}

// sayMeeting adds the clients that still believed in their holds when the last hold was granted, and until when.
func (t *narrator) sayMeeting() {
	w := t.v.Witness.Holds
	if len(w) < 2 {
		return
	}
	for i := range w {
		h := &w[i]
		if i == len(w)-1 || h.Start() > t.v.At || max(h.End(), h.LatestEnd) <= t.v.At {
			continue
		}
		until := "with no end"
		switch end := h.End(); {
		case h.LatestEnd > end:
			until = "until a time that is not known"
		case end != math.MaxInt64:
			until = "until " + t.ms(end)
		}
		t.say(t.v.At, 6, true, fmt.Sprintf("at %s %s believed it held %s too, %s", t.ms(t.v.At), shortened(h.Client), quoted(t.v.Key), until))
	}
}

// uses returns the critical sections that were open when the violation began.
func (t *narrator) uses() (uses []history.Operation) {
	for _, op := range t.v.Witness.All() {
		if op.Op == history.Use && op.Call <= t.v.At && t.v.At <= op.Return {
			uses = append(uses, op)
		}
	}
	return uses
}

// writes returns the last writes of the violation's clients up to the damage.
func (t *narrator) writes() (writes []history.Operation) {
	const shown = 4
	for _, op := range t.around.Operations {
		if op.Op == history.Write && op.Call <= t.v.At+t.v.Lasted && op.Return >= t.base && slices.Contains(t.v.Clients, op.Client) {
			writes = append(writes, op)
		}
	}
	return writes[max(0, len(writes)-shown):]
}

// answers returns the first operations of the witness that no other line shows.
func (t *narrator) answers() (ops []history.Operation) {
	const shown = 3
	for i := range t.v.Witness.Operations {
		op := &t.v.Witness.Operations[i]
		if op.Op != history.Use && op.Op != history.Write && !t.inHold(op) && len(ops) < shown {
			ops = append(ops, *op)
		}
	}
	return ops
}

// sayOperation adds a critical section, a write with the values that it read and wrote, a loss notice, or a call with its outcome.
func (t *narrator) sayOperation(op *history.Operation) {
	client := shortened(op.Client)
	switch op.Op {
	case history.Use:
		t.say(op.Call, 6, true, fmt.Sprintf("%s was inside the critical section from %s to %s", client, t.ms(op.Call), t.ms(op.Return)))
	case history.Write:
		text := fmt.Sprintf("at %s %s wrote to the guarded store: %s", t.ms(op.Call), client, op.Outcome)
		if op.HasValue {
			text = fmt.Sprintf("at %s %s wrote %d, having read %d: %s", t.ms(op.Call), client, op.Wrote, op.Read, op.Outcome)
		}
		if op.Fence > 0 {
			text += fmt.Sprintf(", fence %d", op.Fence)
		}
		t.say(op.Call, 5, true, text)
	case history.Lost:
		t.say(op.Call, 5, true, fmt.Sprintf("the lock reported to %s at %s that its hold was lost", client, t.ms(op.Call)))
	default:
		t.say(op.Call, 5, true, fmt.Sprintf("%s called %s at %s: %s at %s%s", client, op.Op, t.ms(op.Call), op.Outcome, t.ms(op.Return), t.commandsOf(op)))
	}
}

// inHold reports whether a line for a hold or for the answer already shows an operation.
func (t *narrator) inHold(op *history.Operation) bool {
	return t.covered(op) || slices.ContainsFunc(t.holds, func(h checker.Hold) bool {
		return same(&h.Acquire, op) || h.Release != nil && same(h.Release, op) || h.Lost == op.Call && op.Op == history.Lost ||
			slices.ContainsFunc(h.Extends, func(x history.Operation) bool { return same(&x, op) })
	})
}

// commandsOf returns the last command of an operation, whose reply decided the outcome.
func (t *narrator) commandsOf(op *history.Operation) string {
	switch sent := t.sent[op.ID]; len(sent) {
	case 0:
		return ""
	case 1:
		return " (" + command(sent[0]) + ")"
	default:
		return fmt.Sprintf(" (%d commands, the last %s)", len(sent), command(sent[len(sent)-1]))
	}
}

// about returns a description of the lock and the record, for a story with few events.
func (t *narrator) about() []string {
	lease := "has no lease"
	if t.around.Header.Lease > 0 {
		lease = "has a lease of " + span(t.around.Header.Lease)
	}
	return []string{
		fmt.Sprintf("the lock %s (%s) %s", quoted(t.around.Header.Lock), t.around.Header.Kind, lease),
		fmt.Sprintf("recorded around it: %d operations, %d faults", len(t.around.Operations), len(t.around.Faults)),
	}
}
