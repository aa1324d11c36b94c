package checker

import "github.com/lockbench/lockbench/history"

// renewal: a lease that is extended in time goes on, and nobody extends what is not his.
//
// It is a violation when an extend, or a loss notice, says that the hold is gone while its lease was running and no fault met it; when an
// extend is accepted that was called after the release of its hold had returned; and when an extend is accepted all the
// while another client holds, whose grant came later.
//
// Opportunities are extends and loss notices.
//
// Limits: an extend that the lock does by itself is judged only if it was recorded. A self-renewing lock that loses a hold without saying
// so shows as a violation of mutual exclusion.
type renewal struct {
	tally
	d      *docket
	holder map[uint32]*renewed
	asking map[uint32]int // by client: extends that are not answered yet
	newest interval       // the exclusive hold that started last
}

// renewed is what the extends of one client are about.
type renewed struct {
	grant    *record
	until    int64
	released *record
	inner    int // grants inside the outermost that have not been released
	// doubt: the outcome of an entry or of a release within the hold is unknown. The server may then count more entries than the
	// client, and a renewal after the client's last release is of what the server still counts.
	doubt bool
}

func newRenewal(d *docket) *renewal {
	n := d.k.count(history.Extend, history.OK, history.LostHold, history.NotHeld, history.Unknown, history.Fail, history.Busy) +
		d.k.count(history.Lost, history.None, history.OK)
	r := &renewal{tally: tally{property: history.Renewal, applies: n > 0}, d: d, holder: map[uint32]*renewed{}, asking: map[uint32]int{}}
	if !r.applies {
		r.note = "nothing was extended or reported lost"
	}
	return r
}

func (w *renewal) called(r *record) {
	if r.op == history.Extend {
		w.asking[r.client]++
	}
}

// returned looks at what the client knows: extends count when they are answered.
func (w *renewal) returned(r *record) {
	if !w.applies {
		return
	}
	h := w.holder[r.client]
	if h != nil && r.outcome == history.Unknown && r.op != history.Extend && w.reentrant() {
		h.doubt = true
	}
	switch r.op {
	case history.Acquire:
		w.acquire(r)
	case history.Release:
		if h != nil {
			h.release(r)
		}
	case history.Extend, history.Lost:
		if r.op == history.Extend {
			w.asking[r.client]--
		}
		w.opportunity(w.d, r.call, r.ret)
		if h != nil {
			w.told(h, r)
		}
	}
}

func (w *renewal) reentrant() bool { return w.d.a.header.Kind == history.Reentrant }

func (w *renewal) acquire(r *record) {
	if !r.granted() {
		return
	}
	h := w.holder[r.client]
	if h != nil && h.released == nil && w.reentrant() {
		h.inner++
		h.until = w.until(r)
		return
	}
	lasts := h != nil && (h.until >= r.call || w.asking[r.client] > 0) // what the server counts of the hold before
	w.holder[r.client] = &renewed{grant: r, until: w.until(r), doubt: lasts && h.doubt}
	if d := w.d.k.detailOf(r); r.mode == history.Exclusive && d.role == starts {
		w.newest = interval{r, r.ret, d.end}
	}
}

// release ends the innermost grant; with the outermost the renewals must end.
func (h *renewed) release(r *record) {
	if h.inner > 0 && r.outcome == history.OK {
		h.inner--
		return
	}
	h.released = r
}

func (w *renewal) until(r *record) int64 {
	op := history.Operation{Call: r.call, ValidUntil: w.d.k.detailOf(r).until}
	return until(w.d.a.header, &op)
}

func (w *renewal) told(h *renewed, r *record) {
	gone := r.op == history.Lost || r.outcome == history.LostHold || r.outcome == history.NotHeld
	if gone && w.ofAnother(h, r) {
		return // a renewal that was too late for the hold before this one, and was refused: nothing is lost
	}
	switch {
	case gone && h.released == nil && h.until > r.ret && h.until != never && !w.d.ev.metFault(h.grant.call, r.ret):
		w.report("healthy-lost", h, r, nil)
	case r.outcome != history.OK || r.op != history.Extend:
	case h.released != nil && r.call > h.released.ret && h.released.outcome == history.OK && !w.ofAnother(h, r) && !h.doubt: // or of the next hold, whose acquire is to return
		w.report("outlived-release", h, r, nil)
	case w.another(h, r):
		w.report("renewed-another", h, r, w.newest.r)
	default:
		h.until = w.until(r)
	}
	if gone {
		h.until = min(h.until, r.ret)
	}
}

// ofAnother tells whether the tokens say that r is not about the hold h.
func (w *renewal) ofAnother(h *renewed, r *record) bool {
	mine, its := w.d.k.tokenOf(h.grant), w.d.k.tokenOf(r)
	return mine != 0 && its != 0 && mine != its
}

// another tells whether a client whose grant is later than h held from the call of r to its return.
func (w *renewal) another(h *renewed, r *record) bool {
	n := w.newest
	oneHolder := w.d.a.header.Kind != history.Semaphore
	return oneHolder && n.r != nil && n.r.client != r.client && n.start > h.grant.ret && n.start <= r.call && n.end >= r.ret && h.until <= r.call
}

func (w *renewal) report(rule string, h *renewed, r, other *record) {
	if !w.d.rules.on(rule) {
		return
	}
	v := Violation{At: r.ret, Clients: []string{w.d.clientName(r)}}
	if other != nil {
		v.Clients = []string{w.d.clientName(other), w.d.clientName(r)}
	}
	w.found(w.d, v, func() []history.Operation {
		out := append(w.d.episode(h.grant), w.d.operation(r))
		if other != nil {
			out = append(out, w.d.episode(other)...)
		}
		return distinct(out)
	})
}

func (w *renewal) done() {}
