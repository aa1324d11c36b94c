package checker

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// narrate gathers what happened.
func (t *teller) narrate() {
	for _, h := range t.cast {
		t.sayHold(h)
	}
	if r := t.s.reason; r.step != nil && (r.first == nil || !slices.Contains(r.first.grants, r.step) || t.cause == history.NoExpiry) {
		t.sayStep(r.step)
	}
	t.sayFaults()
	switch t.v.Property {
	case history.StoreIntegrity:
		t.sayWrites()
	case history.Progress, history.Refusal, history.Hygiene:
		t.sayWaiting()
	case history.Linearizability:
		t.sayMeeting()
		t.sayWaiting()
	case history.MutualExclusion, history.ExclusiveUse:
		t.sayMeeting()
	}
}

// sayHold tells of a grant, of the end of its lease, of a loss notice, and of the release.
func (t *teller) sayHold(h *hold) {
	if h == t.s.reason.culprit && t.cause == history.StaleReentry {
		t.say(h.start(), 1, true, fmt.Sprintf("%s went in again at %s without asking the server", h.client(), t.ms(h.start())))
		return
	}
	t.say(h.start(), 1, true, fmt.Sprintf("%s was granted %q at %s%s%s", h.client(), t.v.Key, t.ms(h.start()), t.means(h), t.terms(h)))
	if end, ok := t.leaseEnd(h); ok && end <= t.to && (h.release == nil || end <= h.release.Call) {
		t.say(end, 2, true, fmt.Sprintf("the lease of %s ended at %s", h.client(), t.ms(end)))
	}
	if h.lost != 0 && h.lost <= t.to {
		t.say(h.lost, 3, false, fmt.Sprintf("%s was told at %s that its hold is lost", h.client(), t.ms(h.lost)))
	}
	if r := h.release; r != nil && r.Call <= t.v.At && !t.isStep(r) {
		t.say(r.Call, 4, t.stuck(), fmt.Sprintf("%s called release at %s: %s%s", h.client(), t.ms(r.Call), r.Outcome, t.sent(r)))
	}
	t.sayRenewals(h)
}

// means says how a grant came about, where that is what went wrong.
func (t *teller) means(h *hold) string {
	switch {
	case len(h.grants) == 0:
		return ""
	case t.cause == history.QuorumErosion:
		return fmt.Sprintf(" on %d of %d nodes", confirmed(h), t.s.nodes())
	case t.cause == history.DoubleGrant || t.cause == history.ClockSkew:
		return " with " + t.command(h.grants[len(h.grants)-1])
	}
	return ""
}

// terms are what a grant came with, in parentheses.
func (t *teller) terms(h *hold) string {
	text := "no lease"
	if t.s.header.Lease > 0 {
		text = "lease " + span(t.s.header.Lease)
	}
	if h.shared() {
		text += ", shared"
	}
	if h.acquire.Fence > 0 {
		text += fmt.Sprintf(", fence %d", h.acquire.Fence)
	}
	if late(h) && len(h.grants) > 0 {
		text += fmt.Sprintf("; it had asked at %s", t.ms(h.granted()))
	}
	return " (" + text + ")"
}

// leaseEnd is when the server ends a hold by itself, its renewals within the story counted.
func (t *teller) leaseEnd(h *hold) (int64, bool) {
	p := pair{scene: t.s, reason: reason{first: h, second: &hold{acquire: history.Operation{Return: t.to, Call: t.to}}}}
	if end, ok := p.serverEnd(); ok {
		return end, true
	}
	end := until(t.s.header, &h.acquire)
	return end, end != never
}

func (t *teller) sayRenewals(h *hold) {
	granted, last := 0, int64(0)
	for i := range h.renewals {
		r := &h.renewals[i]
		if r.Call > t.to || t.isStep(r) {
			continue
		}
		if r.Outcome == history.OK {
			granted, last = granted+1, r.Call
			continue
		}
		t.say(r.Call, 5, false, fmt.Sprintf("%s tried to renew at %s: %s", h.client(), t.ms(r.Call), r.Outcome))
	}
	if granted > 0 {
		t.say(last, 5, true, fmt.Sprintf("%s renewed its lease %s, the last time at %s", h.client(), times(granted), t.ms(last)))
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// isStep reports whether an operation is the one that sent the command on which the story turns.
func (t *teller) isStep(op *history.Operation) bool {
	st := t.s.reason.step
	return st != nil && st.Client == op.Client && op.Call <= st.Sent && st.Sent <= op.Return
}

// sayStep tells of the command on which the story turns, and whom it hit.
func (t *teller) sayStep(st *step) {
	verb := map[history.Op]string{
		history.Release: "released with", history.Extend: "renewed with", history.Acquire: "asked with",
		history.OpInvalid: "sent, in the background,",
	}[st.during]
	t.say(st.Sent, 3, true, fmt.Sprintf("at %s %s %s %s%s", t.ms(st.Sent), st.Client, verb, t.command(st), t.victim(st)))
}

// victim says what the command did, and to whom.
func (t *teller) victim(st *step) string {
	r := t.s.reason
	switch {
	case t.cause == history.MisUnlock && r.first != nil && r.first.client() != st.Client:
		if st.effect == effectLease {
			return fmt.Sprintf(": the key it renewed was %s's", r.first.client())
		}
		return fmt.Sprintf(": the key it deleted was %s's", r.first.client())
	case t.cause == history.ReaderEvicted && r.first != nil && r.first.client() != st.Client:
		return fmt.Sprintf(": the mark it took away stood for %s too", r.first.client())
	case t.cause == history.Resurrection:
		return ": the key was gone, and this made it again"
	case t.cause == history.NoExpiry:
		return ": the key has no lease"
	}
	return ""
}

// sayFaults tells of the faults that met the story: those done to its clients, and those done to the servers.
func (t *teller) sayFaults() {
	for i := range t.s.faults {
		w := &t.s.faults[i]
		if w.Start > t.to || w.Last() < t.from || !t.matters(w) {
			continue
		}
		t.say(max(w.Start, t.from), 2, w == t.s.reason.window || w.Client != "", t.fault(w))
	}
}

func (t *teller) matters(w *history.Window) bool {
	if w.Client == "" || t.s.reason.window == w {
		return true
	}
	for _, h := range t.cast {
		if h.client() == w.Client {
			return true
		}
	}
	st := t.s.reason.step
	return st != nil && st.Client == w.Client || slices.Contains(t.v.Clients, w.Client)
}

// fault returns a fault window in words.
func (t *teller) fault(w *history.Window) string {
	whom := w.Client
	if whom == "" {
		whom = fmt.Sprintf("node %d", w.Node)
		if w.Node < 0 {
			whom = "the network"
		}
	}
	seen := "measured"
	if !w.Confirmed {
		seen = "not seen to take"
	}
	what := map[string]string{
		faultPauseClient: "was paused", faultCrashClient: "crashed", faultSkewClient: "had a clock that was off",
		faultKillServer: "was killed and away", faultFailover: "was lost and its replica promoted", faultJumpClock: "had its clock set",
		faultDriftClock: "counted time at another rate", faultDeleteKey: "had the key deleted by somebody", faultEvictKeys: "ran out of memory and evicted the key", faultLoseReply: "lost a reply",
	}[w.Fault]
	if what == "" {
		what = "met " + w.Fault
	}
	return fmt.Sprintf("%s %s %s (%s, %s)", whom, what, t.when(w), w.Fault, seen)
}

func (t *teller) when(w *history.Window) string {
	switch {
	case w.Start < t.from && (w.End == 0 || w.End > t.to):
		return "throughout"
	case w.End == 0 && w.Fault == faultCrashClient || w.End == w.Start:
		return "at " + t.ms(w.Start)
	case w.End == 0:
		return "from " + t.ms(w.Start) + " on"
	}
	return fmt.Sprintf("from %s to %s", t.ms(w.Start), t.ms(w.End))
}
