package story

import (
	"fmt"
	"math"
	"slices"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/history"
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
	for i := range t.shown {
		switch op := &t.shown[i]; op.Op {
		case history.Use:
			t.say(op.Call, 6, true, fmt.Sprintf("%s was inside the critical section from %s to %s", shortened(op.Client), t.ms(op.Call), t.ms(op.Return)))
		case history.Lost:
			t.say(op.Call, 5, true, t.loss(op.Client, op.Call))
		default:
			t.say(op.Call, 5, true, t.call(op))
		}
	}
}

// sayHold adds a grant, with the end of the client's belief and whom it met, a loss notice, the
// release and the extends.
func (t *narrator) sayHold(h *checker.Hold) {
	if t.began(h) > t.to {
		return
	}
	text := t.grant(h) + t.meeting(h)
	if end := t.heldUntil(h, 0); len(h.Belief) == 1 && end != "" {
		text += ", and " + end
	} else {
		t.sayEnds(h)
	}
	t.say(t.began(h), 1, true, text)
	if h.Lost != 0 && h.Lost <= t.to {
		t.say(h.Lost, 3, false, t.loss(h.Client, h.Lost))
	}
	if r := h.Release; r != nil && r.Call <= t.known() && !t.covered(r) {
		t.say(r.Call, 4, t.stuck(), t.call(r))
	}
	t.sayExtends(h)
}

// grant returns how a hold began.
func (t *narrator) grant(h *checker.Hold) string {
	client, key, at := shortened(h.Client), quoted(t.v.Key), t.ms(t.began(h))
	verb, means := "was granted", ""
	for i := range t.answer.Events {
		if e := &t.answer.Events[i]; means == "" && e.Command != nil && t.grants(e) && same(e.Op, &h.Acquire) {
			means = " with " + command(e.Command)
		}
	}
	unasked := func(e explain.Event) bool { return e.NoCommand && same(e.Op, &h.Acquire) }
	switch {
	case slices.ContainsFunc(t.answer.Events, unasked):
		return fmt.Sprintf("%s re-entered %s at %s without a request to the server", client, key, at)
	case h.Acquire.Op == history.Extend:
		verb = "was told that it had lost, and then that it had renewed"
	case h.Reentry:
		verb = "re-entered"
	}
	return fmt.Sprintf("%s %s %s at %s%s (%s)", client, verb, key, at, means, t.terms(h))
}

// heldUntil tells how one of a client's beliefs ended before the violation; "" if something else
// than its lease ended it, or if it never began.
func (t *narrator) heldUntil(h *checker.Hold, i int) string {
	b := h.Belief[i]
	switch {
	case b.To > t.known() || b.To <= b.From || t.endedBy(h, b.To):
		return ""
	case slices.ContainsFunc(h.Operations(), func(op history.Operation) bool { return op.ValidUntil == b.To }):
		return "held until " + t.ms(b.To) + ", as the lock had told it"
	case i == len(h.Belief)-1 || h.Acquire.WasAsked(): // else it is not known when the granted request was sent
		return "held until " + t.ms(b.To) + ", counting its lease from its request"
	}
	return ""
}

// sayEnds adds the ends of a client's beliefs before the violation, if leases end them.
func (t *narrator) sayEnds(h *checker.Hold) {
	for i, b := range h.Belief {
		text := t.heldUntil(h, i)
		switch {
		case text != "":
			t.say(b.To, 2, true, shortened(h.Client)+" "+text)
		// what was over when its client was told, if its end is known
		case i == 0 && b.To <= b.From && b.To <= t.known() && !t.endedBy(h, b.To) && h.Acquire.WasAsked():
			why := ", counting its lease from its request"
			if h.Acquire.ValidUntil != 0 {
				why = ", by the end that the lock told it"
			}
			t.say(b.To, 2, true, fmt.Sprintf("at %s, when %s was told of it, its hold was over%s", t.ms(b.To), shortened(h.Client), why))
		}
	}
}

// endedBy reports whether something other than the lease ended the client's belief at an instant: a
// crash, its release, a loss notice, a refused extend.
func (t *narrator) endedBy(h *checker.Hold, end int64) bool {
	died := slices.ContainsFunc(t.around.Faults, func(w history.Window) bool { return w.Client == h.Client && w.Start == end })
	return died || h.Release != nil && h.Release.Call <= end || h.Lost != 0 && h.Lost <= end ||
		slices.ContainsFunc(h.Extends, func(x history.Operation) bool { return x.Return == end && x.Outcome != history.OK })
}

// terms returns the lease, mode and fence of a grant, and how late its client learnt of it.
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
	if until, lease := h.Acquire.ValidUntil, t.around.Header.Lease; until > h.Start() {
		switch promised := until - t.began(h); {
		case until == math.MaxInt64:
			text += "; told no end"
		case max(promised-lease, lease-promised) > lease/10:
			text += "; told that it holds until " + t.ms(until)
		}
	}
	if until := h.Acquire.ValidUntil; until != 0 && until < h.Start() && h.End() > h.Start() {
		text += "; told of an end " + span(h.Start()-until) + " before that"
	}
	if by := h.Start() - t.began(h); by > late {
		text += "; told " + span(by) + " later"
	}
	return text
}

// sayExtends adds what a client was told of its renewals until the violation.
func (t *narrator) sayExtends(h *checker.Hold) {
	renewed, last, until := 0, int64(0), t.known()
	if t.stuck() {
		until = t.to
	}
	for i := range h.Extends {
		x := &h.Extends[i]
		switch {
		// it asked nobody, such as for a lock that can't renew
		case x.Call > until || t.covered(x) || x.Outcome == history.Fail && len(t.sent[x.ID]) == 0:
		case x.Outcome == history.OK:
			renewed, last = renewed+1, x.Return
		default:
			by := ""
			if x.Outcome == history.Fail {
				by = t.commandsOf(x)
			}
			t.say(x.Call, 5, false, fmt.Sprintf("%s tried to renew at %s: %s%s%s", shortened(h.Client), t.ms(x.Call), x.Outcome, t.answered(x), by))
		}
	}
	switch renewed {
	case 0:
	case 1:
		t.say(last, 5, true, fmt.Sprintf("at %s %s was told that its lease was renewed", t.ms(last), shortened(h.Client)))
	default:
		t.say(last, 5, true, fmt.Sprintf("%s was told %d times that its lease was renewed, the last time at %s", shortened(h.Client), renewed, t.ms(last)))
	}
}

// sayFaults adds the faults that hit the story's clients, a server or the network during the story.
func (t *narrator) sayFaults() {
	clock := t.v.Cause == verdicts.ClockJump || t.v.Cause == verdicts.ClockSkew
	for i := range t.around.Faults {
		w := &t.around.Faults[i]
		if w.Start <= t.to && w.Last() >= t.base && t.matters(w) {
			t.say(max(w.Start, t.base), 2, w.Client != "" || t.did(w) != nil || clock && w.Does.Any(history.MovesClock), t.fault(w))
		}
	}
}

// meeting tells which clients believed in their holds when the belief in this one, the last of the
// violation, began.
func (t *narrator) meeting(h *checker.Hold) (text string) {
	w, at := t.v.Witness.Holds, t.v.At
	mine := slices.ContainsFunc(w, func(o checker.Hold) bool { return same(&o.Acquire, &h.Acquire) }) &&
		slices.ContainsFunc(h.Belief, func(b checker.Span) bool { return b.From == at })
	if !mine || t.v.Property != verdicts.MutualExclusion && t.v.Property != verdicts.Linearizability {
		return ""
	}
	for i := range w {
		for _, b := range w[i].Belief {
			until := "with no end"
			switch {
			case b.From >= at || b.To <= at:
				continue
			case b.To != math.MaxInt64:
				until = "until " + t.ms(b.To)
			}
			when := "while"
			if at-t.began(h) > late { // its line is at its grant
				when = "and when it was told,"
			}
			text += fmt.Sprintf(", %s %s believed that it held, %s", when, shortened(w[i].Client), until)
		}
	}
	return text
}

// listed returns the operations that get lines of their own: the critical sections that were open
// when the violation began, or the first operations of the witness that no other line shows; a
// store's writes are the answers to them.
func (t *narrator) listed() (ops []history.Operation) {
	const shown = 3
	switch t.v.Property {
	case verdicts.MutualExclusion:
		return nil
	case verdicts.ExclusiveUse:
		for _, op := range t.v.Witness.All() {
			if op.Op == history.Use && op.Call <= t.v.At && t.v.At <= op.Return {
				ops = append(ops, op)
			}
		}
		return ops
	}
	for i := range t.v.Witness.Operations {
		op := &t.v.Witness.Operations[i]
		inHold := func(h checker.Hold) bool {
			return same(&h.Acquire, op) || h.Release != nil && same(h.Release, op) || h.Lost == op.Call && op.Op == history.Lost ||
				slices.ContainsFunc(h.Extends, func(x history.Operation) bool { return same(&x, op) })
		}
		if op.Op != history.Use && (op.Op == history.Write) == (t.v.Property == verdicts.StoreIntegrity) && len(ops) < shown &&
			!t.covered(op) && !slices.ContainsFunc(t.holds, inHold) {
			ops = append(ops, *op)
		}
	}
	return ops
}

// loss tells that a client was told of a loss.
func (t *narrator) loss(client string, at int64) string {
	return fmt.Sprintf("the lock reported to %s at %s that its hold was lost", shortened(client), t.ms(at))
}

// call tells an operation from its call to its outcome; a write with the values that it read and
// wrote, and with its fence.
func (t *narrator) call(op *history.Operation) string {
	what := "called " + op.Op.String()
	if op.Op == history.Write {
		what = "wrote"
		if op.HasValue {
			what = fmt.Sprintf("wrote %d, having read %d,", op.Wrote, op.Read)
		}
		if op.Fence > 0 {
			what += fmt.Sprintf(" with fence %d", op.Fence)
		}
	}
	return fmt.Sprintf("%s %s at %s: %s%s%s", shortened(op.Client), what, t.ms(op.Call), op.Outcome, t.answered(op), t.commandsOf(op))
}

// answered returns when an operation returned, if a line that has its call must say so.
func (t *narrator) answered(op *history.Operation) string {
	if by := t.ms(op.Return); by != t.ms(op.Call) {
		return " at " + by
	}
	return ""
}

// commandsOf returns the last command of an operation, whose reply decided the outcome.
func (t *narrator) commandsOf(op *history.Operation) string {
	sent := t.sent[op.ID]
	if len(sent) == 0 {
		return ""
	}
	last, count := command(sent[len(sent)-1]), ""
	if len(sent) > 1 {
		count = fmt.Sprintf("%d commands, the last ", len(sent))
	}
	for i := range t.answer.Events {
		if e := &t.answer.Events[i]; e.Command != nil && e.Command.Op == op.ID && t.ends(e) {
			last += hit(e)
		}
	}
	return " (" + count + last + ")"
}
