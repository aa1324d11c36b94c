package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// judge checks one property of one key while the key's records pass twice, once at their call and once at their return, each in order of time. A
// record is called before it returns, and all calls up to an instant come before the returns at that instant.
type judge interface {
	called(r *record)
	returned(r *record)
	done()
	result() *tally
}

// tally is the result of a judge, which embeds it.
type tally struct {
	d             *keyInput
	property      verdicts.Property
	applies       bool
	note          string // why it does not apply, or is inconclusive
	opportunities int
	met           int // opportunities that met a fault window
	violations    int
	within        int                // violations smaller than the clock error, not counted in violations
	windowed      int                // all windows
	skipped       int                // windows that should have been searched but were not
	undecided     int                // of these, how many the sweep does not decide
	notJudged     map[string]int     // opportunities not judged, by reason
	left          map[*record]string // opportunities not judged, of keys with few operations, which a search may still judge
	kept          []Violation
}

// These methods of judge do nothing: a judge has those of its own that it needs.

func (t *tally) called(*record)   {}
func (t *tally) returned(*record) {}
func (t *tally) done()            {}
func (t *tally) result() *tally   { return t }

// tallyOf returns an empty tally. otherwise says why, if the property does not apply.
func (d *keyInput) tallyOf(p verdicts.Property, applies bool, otherwise string) tally {
	if applies {
		otherwise = ""
	}
	return tally{d: d, property: p, applies: applies, note: otherwise}
}

// keyInput is what the judges of one key share.
type keyInput struct {
	a   *archive
	k   *keyLog
	ev  *evidence
	opt Options

	denied  map[*detail]int64 // holds that a reply said to be gone although their lease was running: when first; see breaks
	suspect *suspect          // of the window without an order, if a violation lies in it: the first one
}

// obeys reports whether a rule of the checker is in use. A test switches single rules off, to show what each is needed for.
func (d *keyInput) obeys(rule string) bool { return !d.opt.without[rule] }

// enough is how many violations of a property and key are kept at least until everything is judged, whatever is shown in the end: a search drops those
// that it can explain, and only does so if all were kept.
const enough = 100

// found counts a violation and keeps it if there is room. shown makes its witness.
func (t *tally) found(v Violation, shown func() Witness) {
	d := t.d
	v.Property, v.Key, v.Cause = t.property, d.k.name, verdicts.CauseUnknown
	v.WithinClockError = v.WithinClockError && d.obeys("clock-error")
	if v.WithinClockError {
		t.within++
	} else {
		t.violations++
	}
	if len(t.kept) < max(enough, d.opt.MaxViolations) {
		v.Witness = shown()
		t.kept = append(t.kept, v)
	}
	if searchable(t.property) && (d.suspect == nil || d.suspect.WithinClockError && !v.WithinClockError) {
		d.suspect = &suspect{v, shown}
	}
}

// drop takes back violations, all of which were kept.
func (t *tally) drop(is func(*Violation) bool) {
	t.kept = slices.DeleteFunc(t.kept, func(v Violation) bool {
		switch {
		case !is(&v):
			return false
		case v.WithinClockError:
			t.within--
		default:
			t.violations--
		}
		return true
	})
}

// foundAt counts a violation that one operation shows, beside the grant before it.
func (t *tally) foundAt(r *record) {
	t.found(Violation{At: r.ret, Clients: []string{t.d.clientName(r)}}, func() Witness { return t.d.witness(t.d.grantBefore(r, r.call), r) })
}

// suspect is a violation, with the function that makes its witness.
type suspect struct {
	Violation
	shown func() Witness
}

// searchable reports whether a search for an order decides the property too.
func searchable(p verdicts.Property) bool {
	return p == verdicts.MutualExclusion || p == verdicts.Refusal || p == verdicts.FencingOrder
}

// opportunity counts something that could have gone wrong in [from, to].
func (t *tally) opportunity(from, to int64) {
	t.opportunities++
	if t.d.ev.metFault(from, to) {
		t.met++
	}
}

// The reasons why an opportunity isn't judged.
const (
	withinClockError = "within the clock error"
	endNotKnown      = "the end of a belief is not known"
	overWhenGranted  = "over when it was granted"
	metAFault        = "met a fault"
	sharedWrites     = "beside writes under shared holds"
	unknownOutcomes  = "an operation of unknown outcome may explain it"
	notSearched      = "not searched"
)

// unjudged counts n opportunities as not judged.
func (t *tally) unjudged(n int, why string) {
	if n > 0 {
		t.notJudged = increased(t.notJudged, why, n)
	}
}

// withdraw counts n opportunities as not judged that were counted as judged.
func (t *tally) withdraw(n int, why string) {
	t.opportunities -= n
	t.unjudged(n, why)
}

// leave counts operation r as an opportunity not judged.
func (t *tally) leave(r *record, why string) {
	t.unjudged(1, why)
	if len(t.left) < maxParted {
		if t.left == nil {
			t.left = map[*record]string{}
		}
		t.left[r] = why
	}
}

// take counts operation r as judged, if leave had counted it.
func (t *tally) take(r *record) {
	if why, ok := t.left[r]; ok {
		delete(t.left, r)
		t.restore(1, why)
	}
}

// restore counts n opportunities as judged that were counted as not judged.
func (t *tally) restore(n int, why string) {
	t.opportunities += n
	if n == 0 {
		return
	}
	if t.notJudged[why] -= n; t.notJudged[why] == 0 {
		delete(t.notJudged, why)
	}
}

// increased adds n to a count in a map that may be nil.
func increased(counts map[string]int, name string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[name] += n
	return counts
}

// clientName returns the name of a record's client.
func (d *keyInput) clientName(r *record) string { return d.a.clients.Text(r.client) }

// first returns the earliest call on the key, which has at least one record.
func (k *keyLog) first() int64 { return k.chunks[0].records[0].call }

// last returns the latest return on the key.
func (k *keyLog) last() (t int64) {
	for i := range k.chunks {
		t = max(t, k.chunks[i].last)
	}
	return t
}

// try feeds the records of the key to the judges.
func (d *keyInput) try(judges []judge) {
	var open []*record // called and not returned, by return
	returns := func(r *record) {
		for _, j := range judges {
			j.returned(r)
		}
	}
	for r := range d.k.walk() {
		over := 0
		for ; over < len(open) && open[over].ret < r.call; over++ {
			returns(open[over])
		}
		open = slices.Delete(open, 0, over)
		for _, j := range judges {
			j.called(r)
		}
		at, _ := slices.BinarySearchFunc(open, r, d.byReturn)
		open = slices.Insert(open, at, r)
	}
	for _, r := range open {
		returns(r)
	}
	for _, j := range judges {
		j.done()
	}
}

// byReturn orders records by return. Which of two grants that return at one instant comes first must not depend on names: a belief that was over at
// once comes last; of others that which ends first comes first, and then that with the lower id.
func (d *keyInput) byReturn(x, y *record) int {
	if by := cmp.Or(cmp.Compare(x.ret, y.ret), byInstant(*x, *y)); by != 0 || !x.detailed() || x.op == history.Write {
		return cmp.Or(by, d.a.order(d.k, x, y))
	}
	p, q := d.k.detailOf(x), d.k.detailOf(y)
	last, other := d.k.latestEnd(p), d.k.latestEnd(q)
	switch believed := last > x.ret; {
	case believed == (other > y.ret):
		return cmp.Or(cmp.Compare(p.end, q.end), cmp.Compare(last, other), cmp.Compare(d.a.id(x), d.a.id(y)), d.a.order(d.k, x, y))
	case believed:
		return -1
	}
	return 1
}
