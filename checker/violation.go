package checker

import (
	"cmp"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// Result is the outcome of a judgement: pass, fail or inconclusive, or n/a if the property does not
// apply.
type Result string

// The results.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	Inconclusive  Result = "inconclusive"
	NotApplicable Result = "n/a"
)

// Violation is one violation of a property.
type Violation struct {
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	At       int64             `json:"at"` // nanoseconds on the run's base
	// how long what shows it took, from At: an overlap, a wait, a call, a window
	Lasted  int64    `json:"lasted"`
	Clients []string `json:"clients"` // the wronged client first
	Key     string   `json:"key"`
	Story   []string `json:"story"`           // five to thirteen lines
	Lanes   []string `json:"lanes,omitempty"` // ASCII drawing
	Witness Witness  `json:"-"`               // the holds and operations that show it; filled in
	// store-integrity: what is wrong with the last client's write
	Write            writeFlaw     `json:"-"`
	WithinClockError bool          `json:"within_clock_error,omitempty"`
	Around           *Surroundings `json:"-"` // what its picture shows; nil if it does not come from a check

	of, others []op  // the operations whose holds show it, and those that do by themselves
	grantBy    int64 // so does the last grant that returned by then; 0: none
}

// writeFlaw is what is wrong with a write to the guarded store.
type writeFlaw uint8

// What may be wrong with a write.
const (
	NoFlaw     writeFlaw = iota
	StaleFence           // its fence is below one already written
	StaleHold            // its hold was gone, and under a later one had been written
	LostUpdate           // it read what another had read, and so overwrote what that wrote
)

// Damage is what the guarded store lost.
type Damage struct {
	LostUpdates int   `json:"lost_updates"`
	StaleWrites int   `json:"stale_writes"`
	Expected    int64 `json:"expected"` // the value that the store would hold without lost writes
	Final       int64 `json:"final"`    // the value it holds
	Missing     int64 `json:"missing"`  // expected - final
}

func (d *Damage) add(other Damage) {
	d.LostUpdates += other.LostUpdates
	d.StaleWrites += other.StaleWrites
	d.Expected += other.Expected
	d.Final += other.Final
	d.Missing += other.Missing
}

// Witness is what shows a violation.
type Witness struct {
	Holds      []Hold              // by start; the last conflicts with those before it
	Operations []history.Operation // other operations that show it, by call: the refusal, the write, the release
}

// Surroundings are the record around a violation, on its key: what its story and its picture show.
type Surroundings struct {
	Header history.Header
	Holds  []Hold // by start; those that meet the operations
	// by call: those of the witness, at most nearby before the violation and nearby after it
	Operations []history.Operation
	Faults     []history.Window // by start; those that meet the operations
}

func byTime(x, y Violation) int { return cmp.Compare(x.At, y.At) }

// All returns the operations of a witness, including those of its holds, by call without
// duplicates.
func (w *Witness) All() []history.Operation {
	all := slices.Clone(w.Operations)
	for i := range w.Holds {
		all = append(all, w.Holds[i].Operations()...)
	}
	return inOrder(all)
}

// nearby is how many operations on either side of a violation are shown.
const nearby = 50

// show fills in what shows a violation, and unless it is to be bare, what is around it.
func (a *archive) show(v *Violation, ev *evidence, bare bool) {
	k := a.byName[v.Key]
	if v.grantBy != 0 {
		v.of = k.grantBefore(v.grantBy)
	}
	near := a.around(k, v)
	its := map[uint32]bool{}
	for i := range v.of {
		if its[v.of[i].hold] = true; v.of[i].hold == 0 { // it shows it by itself
			v.others = append(v.others, v.of[i])
		}
	}
	w := &v.Witness
	w.Holds = a.holds(k, slices.DeleteFunc(slices.Clone(near), func(o op) bool { return !its[o.hold] }))
	for i := range v.others {
		w.Operations = append(w.Operations, a.operation(k, &v.others[i]))
	}
	w.Operations = inOrder(w.Operations)
	if !bare {
		v.Around = a.surroundings(k, v, near, ev.all)
	}
	v.of, v.others = nil, nil
}

// surroundings collects the record around a violation.
func (a *archive) surroundings(k *keyLog, v *Violation, near []op, faults []history.Window) *Surroundings {
	at, _ := slices.BinarySearchFunc(near, v.At, func(o op, at int64) int { return cmp.Compare(o.call, at) })
	s := &Surroundings{Header: a.header, Operations: v.Witness.All()}
	for i := max(0, at-nearby); i < min(len(near), at+nearby); i++ {
		s.Operations = append(s.Operations, a.operation(k, &near[i]))
	}
	s.Operations = inOrder(s.Operations)
	first, last := s.Operations[0].Call, v.At
	for _, o := range s.Operations {
		last = max(last, o.Return)
	}
	s.Holds = slices.DeleteFunc(a.holds(k, near), func(h Hold) bool {
		seen := func(o history.Operation) bool { return o.Return >= first }
		return h.Start() > last || h.End() < first && !slices.ContainsFunc(h.Operations(), seen)
	})
	for _, w := range faults {
		if w.Start <= last && w.Last() >= first {
			s.Faults = append(s.Faults, w)
		}
	}
	return s
}

// maxContext is how many operations around a violation are read at most: a lease of seconds may
// span a million, and an illegal history should cost little more than a legal one.
const maxContext = 4096

// around returns the operations that show a violation and those within four leases of any of these,
// by call; if they are too many, only those nearer to the violation.
func (a *archive) around(k *keyLog, v *Violation) []op {
	shown := slices.Concat(v.of, v.others)
	for i := range v.of {
		if n := v.of[i].hold; n != 0 {
			shown = append(shown, k.began(n))
		}
	}
	margin := max(4*a.header.Lease, 2_000_000_000)
	before, after := margin, plus(v.Lasted, margin)
	for _, o := range shown {
		before, after = max(before, v.At-o.call+margin), max(after, o.call-v.At+margin)
	}
	for ; ; before, after = before/4, after/4 {
		found := slices.Clone(shown)
		for o := range k.overlapping(v.At-before, plus(v.At, after)) {
			if found = append(found, o); len(found) > maxContext {
				break
			}
		}
		if len(found) <= maxContext || before+after == 0 {
			slices.SortFunc(found, func(x, y op) int {
				return cmp.Or(cmp.Compare(x.call, y.call), cmp.Compare(x.ret, y.ret), cmp.Compare(rank[x.kind], rank[y.kind]), cmp.Compare(x.line, y.line))
			})
			return slices.CompactFunc(found, func(x, y op) bool { return x.line == y.line })
		}
	}
}

// grantBefore returns the last grant to return by an instant; nothing if there is none.
func (k *keyLog) grantBefore(t int64) []op {
	first := k.first()
	for span := int64(1_000_000); ; span = plus(span, 3*span) {
		var last []op
		for g := range k.overlapping(t-span, t) {
			if g.granted() && g.ret <= t && (last == nil || cmp.Or(cmp.Compare(last[0].ret, g.ret), cmp.Compare(last[0].call, g.call), cmp.Compare(last[0].line, g.line)) < 0) {
				last = []op{g}
			}
		}
		if last != nil || t-span <= first {
			return last
		}
	}
}
