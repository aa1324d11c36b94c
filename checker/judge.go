package checker

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// judge looks at one property of one key while the key's records pass by twice: once as they are called and once as they
// return, each in order of time. A record is called before it returns, and everything that is called up to
// an instant has been called before what ends at that instant returns.
type judge interface {
	called(r *record)
	returned(r *record)
	done()
}

// tally is what a judge found.
type tally struct {
	property      verdicts.Property
	applies       bool
	note          string // why it does not apply, or is inconclusive
	opportunities int
	met           int // opportunities that met a fault window
	violations    int
	within        int                // violations smaller than the clock error, not counted in violations
	windowed      int                // windows there are
	skipped       int                // windows that should have been searched and were not
	undecided     int                // of these, how many the sweep does not decide
	excused       int                // refusals that were not judged, because many acquires of unknown outcome may excuse them
	notJudged     map[string]int     // opportunities that were not judged, by reason
	left          map[*record]string // those of keys with few operations that a search may yet judge
	kept          []Violation
}

// keyInput is what the judges of one key share.
type keyInput struct {
	a     *archive
	k     *keyLog
	ev    *evidence
	opt   Options
	rules rules

	suspect *suspect // the first of the window that has no order if a violation is one
}

// rules switches single rules of the checker off, so that a test can show what each is for.
type rules struct{ off map[string]bool }

func (r rules) on(name string) bool { return !r.off[name] }

// found counts a violation and keeps it while there is room. shown makes what shows it.
func (t *tally) found(d *keyInput, v Violation, shown func() Witness) {
	v.Property, v.Key, v.Cause = t.property, d.k.name, verdicts.CauseUnknown
	v.WithinClockError = v.WithinClockError && d.rules.on("clock-error")
	if v.WithinClockError {
		t.within++
	} else {
		t.violations++
	}
	if len(t.kept) < d.opt.MaxViolations {
		v.Witness = shown()
		t.kept = append(t.kept, v)
	}
	if searchable(t.property) && (d.suspect == nil || d.suspect.WithinClockError && !v.WithinClockError) {
		d.suspect = &suspect{v, shown}
	}
}

// suspect is a violation, and what makes its witness.
type suspect struct {
	Violation
	shown func() Witness
}

// searchable tells which properties a search for an order decides as well.
func searchable(p verdicts.Property) bool {
	return p == verdicts.MutualExclusion || p == verdicts.Refusal || p == verdicts.FencingOrder
}

// opportunity counts something that could have gone wrong in [from, to].
func (t *tally) opportunity(d *keyInput, from, to int64) {
	t.opportunities++
	if d.ev.metFault(from, to) {
		t.met++
	}
}

// unjudged counts, if it is one, an opportunity that was not judged.
func (t *tally) unjudged(opportunity bool, why string) {
	if !opportunity {
		return
	}
	t.notJudged = increased(t.notJudged, why, 1)
}

// leave counts operation r as an opportunity that was not judged.
func (t *tally) leave(r *record, why string) {
	t.unjudged(true, why)
	if len(t.left) < maxParted {
		if t.left == nil {
			t.left = map[*record]string{}
		}
		t.left[r] = why
	}
}

// take counts operation r as one that was judged, if it was left.
func (t *tally) take(r *record) {
	if why, ok := t.left[r]; ok {
		delete(t.left, r)
		t.opportunities++
		if t.notJudged[why]--; t.notJudged[why] == 0 {
			delete(t.notJudged, why)
		}
	}
}

// increased adds to a count in a map that may be nil.
func increased(counts map[string]int, name string, n int) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[name] += n
	return counts
}

// clientName returns the name of a record's client.
func (d *keyInput) clientName(r *record) string { return d.a.clients.text(r.client) }

// operation makes the operation of a record.
func (d *keyInput) operation(r *record) history.Operation { return d.a.operation(d.k, r) }

// first is the earliest call on the key; it has at least one record.
func (k *keyLog) first() int64 { return k.chunks[0].records[0].call }

// last is the latest return on the key.
func (k *keyLog) last() (t int64) {
	for i := range k.chunks {
		t = max(t, k.chunks[i].last)
	}
	return t
}

// try lets the judges see every record of the keyInput's key.
func (d *keyInput) try(judges []tallier) {
	open := pending{order: d.a.order}
	for c := d.k.walk(); ; {
		r := c.next()
		for len(open.of) > 0 && (r == nil || open.of[0].ret < r.call) {
			first := open.pop()
			for _, j := range judges {
				j.returned(first)
			}
		}
		if r == nil {
			break
		}
		for _, j := range judges {
			j.called(r)
		}
		open.push(r)
	}
	for _, j := range judges {
		j.done()
	}
}

// pending is a heap of records that were called and have not returned, by return.
type pending struct {
	of    []*record
	order func(x, y *record) int // of those that return together
}

func (p *pending) before(i, j int) bool {
	if p.of[i].ret != p.of[j].ret {
		return p.of[i].ret < p.of[j].ret
	}
	return p.order(p.of[i], p.of[j]) < 0
}

func (p *pending) swap(i, j int) { p.of[i], p.of[j] = p.of[j], p.of[i] }

func (p *pending) push(r *record) {
	p.of = append(p.of, r)
	for i := len(p.of) - 1; i > 0 && p.before(i, (i-1)/2); i = (i - 1) / 2 {
		p.swap(i, (i-1)/2)
	}
}

func (p *pending) pop() *record {
	first, last := p.of[0], len(p.of)-1
	p.of[0] = p.of[last]
	p.of = p.of[:last]
	for i := 0; ; {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < last; child++ {
			if p.before(child, least) {
				least = child
			}
		}
		if least == i {
			return first
		}
		p.swap(i, least)
		i = least
	}
}
