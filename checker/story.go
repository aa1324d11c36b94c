package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
)

// Bounds on a story. Whoever reads one wants to know what happened, not everything that happened.
const (
	storyMin = 5
	storyMax = 12
)

// tell fills the violation's story and lanes from the scene that shows its cause, and reduces its operations to the smallest set that
// still shows it. It adds to a violation and never takes one back: what it cannot explain it leaves out.
func tell(v *Violation, ev *evidence, s *scene) {
	t := teller{v: v, s: s, cause: v.Cause}
	t.cast = t.choose()
	v.Operations = t.shrink(ev)
	t.setSpan()
	t.narrate()
	v.Story, v.Base = t.lines(), t.base
	v.Lanes = t.draw()
	v.Around = t.surroundings()
}

// teller puts a story together.
type teller struct {
	v      *Violation
	s      *scene
	cause  history.Cause
	cast   []*hold // the holds it is about, by start
	base   int64   // the instant that times are told from: the first grant
	from   int64   // what the story spans
	to     int64
	events []event

	commands map[string][]history.Command // see commandsByClient
}

// event is one thing that happened, as one line.
type event struct {
	at     int64
	rank   int // among events of one instant; what cannot be left out has rank 0
	text   string
	needed bool
}

// choose picks the holds that the cause was concluded from and, where those are not known, the clients' own.
func (t *teller) choose() []*hold {
	var cast []*hold
	add := func(h *hold) {
		if h != nil && h.acquire.Client != "" && !slices.Contains(cast, h) {
			cast = append(cast, h)
		}
	}
	r := t.s.reason
	add(r.culprit)
	add(r.first)
	add(r.second)
	if r.culprit != nil && t.cause == history.StaleReentry {
		add(t.s.lastAsked(r.culprit))
	}
	if t.cause == history.LostWakeup {
		add(t.s.lastReleased(t.v.At))
	}
	if len(cast) == 0 && !t.stuck() {
		for _, client := range t.v.Clients {
			add(t.s.latestHold(client, t.v.At))
		}
	}
	slices.SortStableFunc(cast, compareGranted)
	return cast
}

// lastAsked is the last hold that a client asked the server for before another of its holds.
func (s *scene) lastAsked(before *hold) *hold {
	var last *hold
	for _, h := range s.holds {
		if h.client() == before.client() && h.asked && h.start() < before.start() {
			last = h
		}
	}
	return last
}

// lastReleased is the hold whose release came last before an instant.
func (s *scene) lastReleased(at int64) *hold {
	var last *hold
	for _, h := range s.holds {
		if h.release != nil && h.release.Call <= at && (last == nil || h.release.Call > last.release.Call) {
			last = h
		}
	}
	return last
}

// setSpan finds the first and the last instant of the story.
func (t *teller) setSpan() {
	t.from, t.to = t.v.At, plus(t.v.At, t.v.Lasted)
	for _, h := range t.cast {
		t.from = min(t.from, h.granted())
	}
	for _, op := range t.v.Operations {
		if op.Op == history.Acquire && op.Outcome == history.Unknown {
			t.from = min(t.from, op.Call)
		}
	}
	if st := t.s.reason.step; st != nil {
		t.from, t.to = min(t.from, st.Sent), max(t.to, st.Replied)
	}
	for _, op := range t.v.Operations {
		if t.stuck() && slices.Contains(t.v.Clients, op.Client) {
			t.from = min(t.from, op.Call)
		}
	}
	t.base = t.from
	if len(t.cast) > 0 && t.cast[0].granted() == t.from && !late(t.cast[0]) {
		t.base = t.cast[0].start()
	}
}

// late reports whether a client learnt of its grant so long after it had asked that the difference matters.
func late(h *hold) bool { return h.start()-h.granted() > 10*milli }

// stuck reports whether the violation is that the lock was not to be had.
func (t *teller) stuck() bool {
	return t.v.Property == history.Progress || t.v.Property == history.Refusal || t.v.Property == history.Hygiene
}

// lines returns the story's sentences: what was broken, what happened in order, and why.
func (t *teller) lines() []string {
	events := t.events
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.rank, b.rank)) })
	events = slices.CompactFunc(events, func(a, b event) bool { return a.text == b.text })
	events = trim(events, storyMax-2)
	out := []string{t.headline()}
	for _, e := range events {
		out = append(out, e.text)
	}
	if len(out)+1 < storyMin {
		out = append(out, t.about()...)
	}
	return append(out, t.moral())
}

// trim leaves out the events that can be left out, the last first, until n are left.
func trim(events []event, n int) []event {
	for i := len(events) - 1; i >= 0 && len(events) > n; i-- {
		if !events[i].needed {
			events = slices.Delete(events, i, i+1)
		}
	}
	return events[:min(len(events), n)]
}

func (t *teller) say(at int64, rank int, needed bool, text string) {
	t.events = append(t.events, event{at: at, rank: rank, needed: needed, text: text})
}
