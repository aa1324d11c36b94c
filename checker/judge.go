package checker

import (
	"cmp"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/verdicts"
)

// judge checks one property of one key. It sees the key's operations in order of time, at their
// calls and at their returns; at one instant calls come before returns. An *op is valid until the
// method returns: judges copy what they keep. They read the holds, and nothing of each other.
type judge interface {
	called(o *op)
	returned(o *op)
	done()
	result() *tally
}

// tally is the result of a judge, which embeds it and has those of these methods that it needs.
type tally struct {
	d         *keyInput
	property  verdicts.Property
	applies   bool
	note      string // why it does not apply
	judged    int    // opportunities
	met       int    // opportunities that met a fault window
	broken    int
	within    int            // violations smaller than the clock error, not counted in broken
	notJudged map[string]int // opportunities not judged, by reason
	windows   int            // of linearizability: all
	skipped   int            // those that should have been searched and were not
	damage    *Damage        // of store-integrity; nil: no value of the store is known
	kept      []Violation
}

func (*tally) called(*op)       {}
func (*tally) returned(*op)     {}
func (*tally) done()            {}
func (t *tally) result() *tally { return t }

// tallyOf returns an empty tally. otherwise says why, if the property does not apply.
func (d *keyInput) tallyOf(p verdicts.Property, applies bool, otherwise string) tally {
	if applies {
		otherwise = ""
	}
	return tally{d: d, property: p, applies: applies, note: otherwise}
}

// The reasons why an opportunity isn't judged.
const (
	withinClockError = "within the clock error"
	overWhenGranted  = "over when it was granted"
	metAFault        = "met a fault"
	unknownOutcomes  = "an operation of unknown outcome may explain it"
	othersTry        = "another's try may explain it"
	valuesRepeat     = "the value was written more than once"
	notAnswered      = "not answered"
	notSearched      = "not searched"
	withoutHold      = "no open hold"
)

// opportunity counts something that could have gone wrong in [from, to] and was judged. A fault that
// it met excuses nothing.
func (t *tally) opportunity(from, to int64) {
	t.judged++
	ev := t.d.ev
	n := sort.Search(len(ev.faults), func(i int) bool { return ev.faults[i].Start > to })
	if n > 0 && ev.last[n-1] >= from {
		t.met++
	}
}

// unjudged counts an opportunity as not judged.
func (t *tally) unjudged(why string) { t.notJudged = increased(t.notJudged, why, 1) }

// found counts a violation as judged and broken, or as not judged if it is within the clock error,
// and keeps it if there is room. What shows it are the holds of the operations of, and others
// themselves.
func (t *tally) found(v Violation, of []op, others ...op) {
	v.Property, v.Key, v.Cause = t.property, t.d.k.name, verdicts.CauseUnknown
	if v.WithinClockError {
		t.within++
		t.unjudged(withinClockError)
	} else {
		t.broken++
		t.opportunity(v.At, plus(v.At, v.Lasted))
	}
	if len(t.kept) < t.d.opt.MaxViolations || !v.WithinClockError && t.broken == 1 {
		v.of, v.others = of, others
		t.kept = append(t.kept, v)
	}
}

// sweep feeds the operations of the key to the judges.
func (d *keyInput) sweep(judges []judge) {
	var open []op // called and not returned, by return
	returns := func(n int) {
		for i := range open[:n] {
			for _, j := range judges {
				j.returned(&open[i])
			}
		}
		open = slices.Delete(open, 0, n)
	}
	var o op
	for place := range d.a.walk(d.k) {
		d.k.unpack(&o, place)
		over := 0
		for over < len(open) && open[over].ret < o.call {
			over++
		}
		returns(over)
		for _, j := range judges {
			j.called(&o)
		}
		open = insert(open, &o)
	}
	returns(len(open))
	for _, j := range judges {
		j.done()
	}
}

func (t *tally) join(other *tally, most int) {
	t.property = other.property
	// A key to which the property applies says nothing of why it does not apply to others.
	if other.applies && !t.applies || other.applies == t.applies && t.note == "" {
		t.note = other.note
	}
	t.applies = t.applies || other.applies
	t.judged += other.judged
	t.met += other.met
	t.broken += other.broken
	t.within += other.within
	t.windows += other.windows
	t.skipped += other.skipped
	switch {
	case t.damage == nil:
		t.damage = other.damage
	case other.damage != nil:
		t.damage.add(*other.damage)
	}
	for why, n := range other.notJudged {
		t.notJudged = increased(t.notJudged, why, n)
	}
	t.kept = append(t.kept, other.kept...)
	within := func(v Violation) int {
		if v.WithinClockError {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(t.kept, func(x, y Violation) int { return cmp.Or(cmp.Compare(within(x), within(y)), byTime(x, y)) })
	t.kept = t.kept[:min(len(t.kept), most)]
	slices.SortStableFunc(t.kept, byTime)
}

// increased adds n to a count in a map that may be nil.
func increased[K comparable](counts map[K]int, name K, n int) map[K]int {
	if counts == nil {
		counts = map[K]int{}
	}
	counts[name] += n
	return counts
}
