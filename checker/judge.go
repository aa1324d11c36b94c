package checker

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// judge checks one property of one key while the key's operations pass twice, at their call and at
// their return, in order of time; it hears of what it has a method for. All calls up to an instant
// come before the returns at that instant. An operation is valid during the call only: judges copy
// what they keep. They read the holds, and nothing of each other.
type judge interface {
	done()
	result() *tally
}

type (
	atCall   interface{ called(o *op) }
	atReturn interface{ returned(o *op) }
)

// keyInput is what the judges of one key share. They change nothing of it.
type keyInput struct {
	a   *archive
	k   *keyLog
	ev  *evidence
	opt Options
}

// tally is the result of a judge, which embeds it.
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
	kept      []Violation
}

func (t *tally) done()          {} // a judge may have its own
func (t *tally) result() *tally { return t }

// tallyOf returns an empty tally. otherwise says why, if the property does not apply.
func (d *keyInput) tallyOf(p verdicts.Property, applies bool, otherwise string) tally {
	if applies {
		otherwise = ""
	}
	return tally{d: d, property: p, applies: applies, note: otherwise}
}

// uses reports whether a rule is in use. A test switches single rules off, to show what each is
// needed for.
func (d *keyInput) uses(rule string) bool { return d.opt.without != rule }

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
)

// opportunity counts something that could have gone wrong in [from, to] and was judged.
func (t *tally) opportunity(from, to int64) {
	t.judged++
	if t.d.ev.metFault(from, to) {
		t.met++
	}
}

// unjudged counts n opportunities as not judged.
func (t *tally) unjudged(n int, why string) {
	if n > 0 {
		t.notJudged = increased(t.notJudged, why, n)
	}
}

// increased adds n to a count in a map that may be nil.
func increased[K comparable](counts map[K]int, name K, n int) map[K]int {
	if counts == nil {
		counts = map[K]int{}
	}
	counts[name] += n
	return counts
}

// found counts an opportunity, and in it a violation, which it keeps if there is room; one within
// the clock error decides nothing. The holds of some operations show it, and others by themselves.
func (t *tally) found(v Violation, of []op, others ...op) {
	v.Property, v.Key, v.Cause = t.property, t.d.k.name, verdicts.CauseUnknown
	if v.WithinClockError {
		t.within++
		t.unjudged(1, withinClockError)
	} else {
		t.broken++
		t.opportunity(v.At, plus(v.At, v.Lasted))
	}
	if len(t.kept) < t.d.opt.MaxViolations || !v.WithinClockError && t.broken == 1 {
		v.of, v.others = of, others
		t.kept = append(t.kept, v)
	}
}

// names returns the names of operations' clients.
func (d *keyInput) names(of ...op) (names []string) {
	for i := range of {
		if name := d.a.client(&of[i]); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// sweep feeds the operations of the key to the judges.
func (d *keyInput) sweep(judges []judge) {
	var open []op // called and not returned, by return
	var calls []atCall
	var returning []atReturn
	for _, j := range judges {
		if c, hears := j.(atCall); hears {
			calls = append(calls, c)
		}
		if r, hears := j.(atReturn); hears {
			returning = append(returning, r)
		}
	}
	returns := func(n int) {
		for i := range open[:n] {
			for _, j := range returning {
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
		for _, j := range calls {
			j.called(&o)
		}
		open = insert(open, &o)
	}
	returns(len(open))
	for _, j := range judges {
		j.done()
	}
}

// judgements is the result for one key.
type judgements struct {
	tallies []tally
	damage  *Damage // nil: no value of the store is known
	err     error
}

// judgeAll judges every key, concurrently on all processors.
func (a *archive) judgeAll(ctx context.Context, ev *evidence, opt Options) ([]tally, *Damage, error) {
	all := make([]judgements, len(a.keys))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(a.keys)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(a.keys)); i = next.Add(1) - 1 {
				all[i] = a.judgeKey(ctx, a.keys[i], ev, opt)
			}
		})
	}
	workers.Wait()
	return join(all, opt)
}

func (a *archive) judgeKey(ctx context.Context, k *keyLog, ev *evidence, opt Options) (f judgements) {
	if f.err = ctx.Err(); f.err != nil {
		return f
	}
	if f.err = a.findHolds(k, ev); f.err != nil {
		return f
	}
	d := &keyInput{a: a, k: k, ev: ev, opt: opt}
	store := newStoreIntegrity(d)
	judges := []judge{
		newMutualExclusion(d), newExclusiveUse(d), store, newReleaseSafety(d), newFencingOrder(d),
		newProgress(d), newRefusal(d), newReentrancy(d), newRenewal(d), newFairness(d), newLinearizability(d),
	}
	d.sweep(slices.DeleteFunc(slices.Clone(judges), func(j judge) bool { return !j.result().applies }))
	for _, j := range judges {
		f.tallies = append(f.tallies, *j.result())
	}
	f.damage = store.damage()
	return f
}

// Permits returns how many holds that conflict may be in force at once.
func Permits(h history.Header) int {
	if h.Kind == history.Semaphore {
		return max(h.Permits, 1)
	}
	return 1
}

// Conflict reports whether two holds, of the same client or of two, exclude each other.
func Conflict(kind history.Kind, same bool, a, b history.Mode) bool {
	switch {
	case kind == history.Reentrant:
		return !same
	case kind == history.RW:
		return !same && (a == history.Exclusive || b == history.Exclusive)
	}
	return true
}

// mayRefuse reports whether a hold may refuse an acquire. A client's own may as any other: whether
// a re-entrant lock may refuse its owner is judged as reentrancy.
func mayRefuse(kind history.Kind, held, asked history.Mode) bool {
	return kind != history.RW || held == history.Exclusive || asked == history.Exclusive
}

// manyMayHold reports whether a hold of the mode may be one of several.
func manyMayHold(h history.Header, m history.Mode) bool {
	return h.Kind == history.RW && m == history.Shared || Permits(h) > 1
}
