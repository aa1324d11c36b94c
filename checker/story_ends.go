package checker

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// sayMeeting tells how the two holds met: who still believed, or was still inside, when the other came.
func (t *teller) sayMeeting() {
	r := t.s.reason
	if r.first == nil || r.second == nil {
		return
	}
	a, b := r.first, r.second
	if t.v.Property == history.ExclusiveUse {
		t.sayInside(a, b)
		return
	}
	if b.start() < a.start() { // asked earlier, and learnt of it later
		a, b = b, a
	}
	until := "with no end"
	if end := a.end(); end != never {
		until = "until " + t.ms(end)
	}
	t.say(t.v.At, 6, true, fmt.Sprintf("at %s %s believed it held %q too, %s", t.ms(t.v.At), a.client(), t.v.Key, until))
}

// sayInside tells who was inside the critical section, from when to when.
func (t *teller) sayInside(a, b *hold) {
	for _, h := range []*hold{a, b} {
		for _, u := range h.uses {
			if u.Call <= t.v.At && t.v.At <= u.Return {
				t.say(u.Call, 6, true, fmt.Sprintf("%s was inside the critical section from %s to %s", h.client(), t.ms(u.Call), t.ms(u.Return)))
			}
		}
	}
}

// sayWrites tells of the last writes up to the damage, with what their writers had read.
func (t *teller) sayWrites() {
	const most = 4
	var writes []history.Operation
	for _, op := range t.s.ops {
		if op.Op == history.Write && op.Call <= plus(t.v.At, t.v.Lasted) && slices.Contains(t.v.Clients, op.Client) {
			writes = append(writes, op)
		}
	}
	for _, w := range writes[max(0, len(writes)-most):] {
		text := fmt.Sprintf("at %s %s wrote to the guarded store: %s", t.ms(w.Call), w.Client, w.Outcome)
		if w.HasValue {
			text = fmt.Sprintf("at %s %s wrote %d, having read %d: %s", t.ms(w.Call), w.Client, w.Wrote, w.Read, w.Outcome)
		}
		if w.Fence > 0 {
			text += fmt.Sprintf(", fence %d", w.Fence)
		}
		t.say(w.Call, 5, true, text)
	}
}

// sayWaiting tells who asked in vain.
func (t *teller) sayWaiting() {
	const most = 3
	told := 0
	for _, op := range t.s.ops {
		if op.Op != history.Acquire || op.Outcome == history.OK && op.Return <= t.v.At || told == most {
			continue
		}
		if !slices.Contains(t.v.Clients, op.Client) || op.Call > plus(t.v.At, t.v.Lasted) || op.Return < t.v.At {
			continue
		}
		told++
		t.say(op.Call, 5, true, fmt.Sprintf("%s asked for %q at %s and was answered %s at %s%s",
			op.Client, t.v.Key, t.ms(op.Call), op.Outcome, t.ms(op.Return), t.sent(&op)))
	}
}

// sent shows the last command of a call, which is the answer it went by.
func (t *teller) sent(op *history.Operation) string {
	var last *step
	n := 0
	for i := range t.s.steps {
		if st := &t.s.steps[i]; st.Client == op.Client && op.Call <= st.Sent && st.Sent <= op.Return {
			last, n = st, n+1
		}
	}
	switch {
	case last == nil:
		return ""
	case n == 1:
		return fmt.Sprintf(" (%s)", t.command(last))
	}
	return fmt.Sprintf(" (%d commands, the last %s)", n, t.command(last))
}

// about fills a story that has little to tell with what the lock is.
func (t *teller) about() []string {
	lease := "has no lease"
	if t.s.header.Lease > 0 {
		lease = "has a lease of " + span(t.s.header.Lease)
	}
	return []string{
		fmt.Sprintf("the lock %q (%s) %s", t.s.header.Lock, t.s.header.Kind, lease),
		fmt.Sprintf("0 ms is %s after the start of the run", span(t.base)),
		fmt.Sprintf("the record around it: %d operations, %d commands on the lock's keys, %d faults", len(t.s.ops), len(t.s.steps), len(t.s.faults)),
	}
}
