package checker_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// expected is the verdict on one property by docs/verdicts.md.
type expected struct {
	verdict checker.Result
	open    string // why nothing is compared; "" = it is

	counted          bool // judged and unjudged are known
	judged, unjudged int
	summed           bool // total is known
	total            int  // of the two
}

// judgePage judges a history by docs/verdicts.md.
func judgePage(h history.Header, ops []history.Operation, faults []history.Window) map[verdicts.Property]expected {
	return readRecord(h, ops, faults).judge()
}

func (r *record) judge() map[verdicts.Property]expected {
	h, out := r.h, map[verdicts.Property]expected{}
	switch surely := r.longest(r.beliefs()); {
	case surely > h.ClockError:
		out[verdicts.MutualExclusion] = expected{verdict: checker.Fail}
	case surely > 0:
		out[verdicts.MutualExclusion] = expected{verdict: checker.Inconclusive}
	default:
		out[verdicts.MutualExclusion] = expected{verdict: checker.Pass}
	}
	if uses := r.longest(r.uses()); uses > h.ClockError {
		out[verdicts.ExclusiveUse] = expected{verdict: checker.Fail}
	} else if uses > 0 {
		out[verdicts.ExclusiveUse] = expected{verdict: checker.Inconclusive}
	} else {
		out[verdicts.ExclusiveUse] = expected{verdict: checker.Pass}
	}
	out[verdicts.StoreIntegrity] = expected{verdict: checker.Pass}
	if !r.chained(h.ClockError) || r.stale(h.ClockError) {
		out[verdicts.StoreIntegrity] = expected{verdict: checker.Fail}
	} else if !r.chained(0) || r.stale(0) {
		out[verdicts.StoreIntegrity] = expected{verdict: checker.Inconclusive}
	}
	r.promises(out)
	r.search(out)
	return out
}

// searched are the properties that executions decide.
var searched = []verdicts.Property{verdicts.Linearizability, verdicts.Refusal, verdicts.FencingOrder, verdicts.ReleaseSafety}

// server returns the server that is asked for executions of the record.
func (r *record) server() *server {
	s := &server{h: r.h, most: 300_000, denied: map[int]bool{}, over: map[int]bool{}, late: map[int]bool{}, exact: map[history.Operation]bool{}, fence: r.fence, pauses: r.h.ClockError > 0 && r.pauses()}
	for _, w := range r.faults {
		s.upsets = append(s.upsets, upsetsOf(w)...)
	}
	denied := r.deniedEarly()
	for i, op := range r.ops {
		refused := op.Outcome == history.NotHeld || op.Outcome == history.LostHold
		if refused && r.h.Votes && r.excused(op.Client, r.since(i), op.Return) { // some nodes may have done it, and others not
			op.Outcome = history.Unknown
		}
		if op.Op == history.Acquire {
			s.tries = append(s.tries, op)
		}
		if op.Op == history.Acquire && op.Outcome != history.Fail || (op.Op == history.Extend || op.Op == history.Release) && op.Outcome != history.Fail {
			if r.forgivenReply(i, denied) { // renewal and reentrancy report these
				s.denied[len(s.ops)] = true
			}
			if op.Op == history.Extend && op.Outcome == history.OK && r.cannotHaveBeen(i) {
				s.over[len(s.ops)], s.late[len(s.ops)] = true, r.of[i] == nil
			}
			s.ops = append(s.ops, op)
			if h := r.of[i]; h != nil && op.Op != history.Acquire && op.Token != "" && op.Token == h.token {
				s.exact[op] = true
			}
		}
	}
	return s
}

// forgivenReply reports whether a reply said of a hold that it is gone although its lease was running, or an earlier one about that hold did. What a fault
// did to the server's state is part of executions, which must then explain the reply.
func (r *record) forgivenReply(i int, denied map[int]bool) bool {
	op := r.ops[i]
	if op.Outcome != history.NotHeld && op.Outcome != history.LostHold {
		return false
	}
	about := func(k int) *pageHold {
		if h := r.of[k]; h != nil && r.mayBeOfNone(k, h) && r.runningBefore(k) != nil {
			return r.runningBefore(k)
		}
		return r.of[k]
	}
	for k, o := range r.ops {
		if denied[k] && (o.Op == history.Extend || r.h.Kind == history.Reentrant) && !r.upset(r.since(k), o.Return) && (k == i || about(k) == r.of[i] && o.Return <= op.Return) {
			return true
		}
	}
	return false
}

// executions are the servers of the parts of a record in which the clocks may be off by other amounts; if that is not sure, one for all.
type executions []*server

func (r *record) executions() executions {
	s := r.server()
	parts, sure := r.parts()
	if !s.pauses || !sure {
		return executions{s}
	}
	var all executions
	for _, part := range parts {
		all = append(all, part.server())
	}
	return all
}

func (x executions) explains(rules int) (found, known bool) {
	found = true
	for _, s := range x {
		switch f, k := s.explains(rules); {
		case !f && k:
			return false, true
		case !f:
			found = false
		}
	}
	return found, found
}

// search judges them.
func (r *record) search(out map[verdicts.Property]expected) {
	s := r.executions()
	set := func(p verdicts.Property, verdict checker.Result) {
		e := out[p]
		e.verdict = verdict
		out[p] = e
	}
	for _, p := range searched {
		set(p, checker.Pass)
	}
	give := func() {
		for _, p := range searched {
			e := out[p]
			e.open = "the search was given up, or the clocks may have changed"
			out[p] = e
		}
	}
	all, known := s.explains(everyRule)
	if all {
		return
	}
	if !known {
		give()
		return
	}
	wrongful := r.wrongful()
	if owned, known := s.explains(acceptedRule | deniedRule); owned && known { // each may have found its hold, but for a grant that excludes it
		wrongful = slices.DeleteFunc(wrongful, func(i int) bool { return r.ops[i].Op == history.Extend && !r.overtaken(i) })
	}
	if len(wrongful) > 0 {
		set(verdicts.ReleaseSafety, checker.Fail)
	}
	set(verdicts.Linearizability, checker.Fail)
	base := everyRule
	if out[verdicts.MutualExclusion].verdict == checker.Fail {
		base &^= grantRule
	}
	if len(wrongful) > 0 {
		base &^= acceptedRule
	}
	if slices.ContainsFunc(s, func(s *server) bool { return len(s.denied) > 0 }) {
		base &^= deniedRule
	}
	if found, known := s.explains(base); found || !known {
		if !known {
			give()
			return
		}
		r.inParts(out)
		return
	}
	var blamed []verdicts.Property
	for rule, p := range map[int]verdicts.Property{grantRule: "", refusalRule: verdicts.Refusal, acceptedRule: verdicts.ReleaseSafety, fenceRule: verdicts.FencingOrder} {
		if base&rule == 0 {
			continue
		}
		found, known := s.explains(base &^ rule)
		if !known {
			give()
			return
		}
		if found {
			blamed = append(blamed, p)
		}
	}
	if len(blamed) == 1 && blamed[0] != "" {
		set(blamed[0], checker.Fail)
		if e := out[blamed[0]]; blamed[0] == verdicts.ReleaseSafety && r.restorable() { // whether it met the fault depends on which operation is to blame
			e.open = "whether a fault excuses it depends on which operation is to blame"
			out[blamed[0]] = e
		}
	}
	if len(blamed) != 1 {
		r.inParts(out)
	}
}

// inParts judges the parts of the record, for which no single rule is to blame, each by itself.
func (r *record) inParts(out map[verdicts.Property]expected) {
	parts, sure := r.parts()
	if len(parts) < 2 {
		return
	}
	for _, part := range parts {
		for p, e := range part.judge() {
			whole := out[p]
			switch {
			case !slices.Contains(searched, p) || whole.verdict == checker.Fail || sure && e.verdict == checker.Pass && e.open == "":
				continue
			case sure:
				whole.verdict, whole.open = e.verdict, e.open
			default:
				whole.open = "whether the record falls into parts depends on what it says of the ends of holds"
			}
			out[p] = whole
		}
	}
}

// matters reports whether an operation can have had an effect on the lock, or may be why another was refused.
func (r *record) matters(op history.Operation) bool {
	switch op.Op {
	case history.Acquire:
		return op.Outcome != history.Fail || r.h.Votes || r.h.FIFO
	case history.Extend, history.Release:
		return op.Outcome != history.Fail
	}
	return false
}

// pauses reports whether between two operations nothing is under way or can be in force, but for what has an unknown outcome.
func (r *record) pauses() bool {
	return slices.ContainsFunc(r.ops, func(op history.Operation) bool {
		before := func(o history.Operation) bool { return r.matters(o) && o.Call < op.Call }
		lasts := func(o history.Operation) bool { return before(o) && o.Return+r.h.ClockError >= op.Call }
		kept := func(h *pageHold) bool { return before(r.ops[h.acquire]) && h.gone+r.h.ClockError >= op.Call }
		return r.matters(op) && slices.ContainsFunc(r.ops, before) && !slices.ContainsFunc(r.ops, lasts) && !slices.ContainsFunc(r.holds, kept)
	})
}

// parts cuts the record where nothing is under way and nothing can be in force, for each to be judged by itself. If that is so only by what the record
// says of the ends of holds, which may be what is wrong with it, sure is false.
func (r *record) parts() (parts []*record, sure bool) {
	s := &server{h: r.h, ops: r.ops}
	first, fence, sure := 0, r.fence, true
	moved := slices.ContainsFunc(r.faults, func(w history.Window) bool { return w.Confirmed && w.Client == "" && movesClock(w) })
	for i, op := range r.ops {
		apart, far := i > 0 && r.matters(op), true
		for k, o := range r.ops[:i] {
			later := func(n history.Operation) bool {
				return o.Op == history.Acquire && o.Outcome == history.OK && n.Op != history.Acquire && s.belongs(n, k)
			}
			if !r.matters(o) {
				continue
			}
			apart = apart && !(o.Op == history.Acquire && o.Outcome == history.Unknown) && o.Return+r.h.ClockError < op.Call
			apart = apart && !(moved && (o.Outcome == history.OK || o.Outcome == history.Unknown)) // when its lease ends is not known
			far = far && o.Outcome != history.Unknown && o.Return+r.keep()+r.h.ClockError < op.Call && !slices.ContainsFunc(r.ops[i:], later)
		}
		for _, h := range r.holds {
			apart = apart && (h.acquire >= i || h.gone+r.h.ClockError < op.Call)
		}
		if !apart {
			continue
		}
		sure = sure && far
		parts = append(parts, r.from(first, i, fence))
		for _, o := range r.ops[first:i] {
			if o.Op == history.Acquire && o.Outcome == history.OK && o.Mode == history.Exclusive {
				fence = max(fence, o.Fence)
			}
		}
		first = i
	}
	return append(parts, r.from(first, len(r.ops), fence)), sure
}

func (r *record) from(first, end int, fence uint64) *record {
	part := readRecord(r.h, r.ops[first:end], r.faults)
	part.fence = fence
	return part
}

// soak is how many histories of each kind a test draws: n, or as many as LOCKBENCH_SOAK says; 1 stands for a million.
func soak(n int) int {
	if checker.RaceDetector {
		n /= 20
	}
	switch k, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK")); {
	case err != nil:
		return n
	case k == 1:
		return 1_000_000
	default:
		return k
	}
}

// soakFrom is the seed from which a soak continues: LOCKBENCH_SOAK_FROM.
func soakFrom() int {
	n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK_FROM"))
	if err != nil {
		return 0
	}
	return n
}

const millisecond = 1_000_000

// inNanoseconds converts a record in milliseconds for the checker.
func (g *pageGenerator) inNanoseconds() (checker.Input, []history.Operation) {
	h := g.h
	h.Lease, h.Drift, h.ClockError = h.Lease*millisecond, h.Drift*millisecond, h.ClockError*millisecond
	in := checker.Input{Header: h}
	for _, w := range g.faults {
		w.Start, w.End, w.Effects = w.Start*millisecond, w.End*millisecond, slices.Clone(w.Effects)
		for i := range w.Effects {
			w.Effects[i].At, w.Effects[i].By = w.Effects[i].At*millisecond, w.Effects[i].By*millisecond
		}
		in.Faults = append(in.Faults, w)
	}
	ops := make([]history.Operation, 0, len(g.ops))
	for _, op := range g.ops {
		op.Call, op.Return, op.Asked, op.ValidUntil = op.Call*millisecond, op.Return*millisecond, op.Asked*millisecond, op.ValidUntil*millisecond
		ops = append(ops, op)
	}
	return in, ops
}

func (g *pageGenerator) String() string {
	text := fmt.Sprintf("kind=%s lease=%d drift=%d permits=%d error=%d votes=%v fifo=%v %+v\n", g.h.Kind, g.h.Lease, g.h.Drift, g.h.Permits, g.h.ClockError, g.h.Votes, g.h.FIFO, g.faults)
	ops := append([]history.Operation(nil), g.ops...)
	inOrder(ops)
	for _, op := range ops {
		text += fmt.Sprintf("%s %s %d %d %s", op.Client, op.Op, op.Call, op.Return, op.Outcome)
		if named(op) {
			text += " " + op.Mode.String()
		}
		for name, v := range map[string]int64{"asked": op.Asked, "until": op.ValidUntil, "fence": int64(op.Fence)} {
			if v != 0 {
				text += fmt.Sprintf(" %s=%d", name, v)
			}
		}
		if op.HasValue {
			text += fmt.Sprintf(" read=%d wrote=%d", op.Read, op.Wrote)
		}
		if op.Token != "" {
			text += " token=" + op.Token
		}
		text += "\n"
	}
	return text
}

// differences returns where Check and the page disagree about a history, and counts the verdicts; ok is false of one that is not well formed.
func (g *pageGenerator) differences(t *testing.T, counts map[string]int) (out []string, ok bool) {
	in, ops := g.inNanoseconds()
	in.Ops = history.NewSlice(ops)
	v, err := checker.Check(t.Context(), in, checker.Options{Bare: true})
	if err != nil {
		return nil, false
	}
	want := judgePage(g.h, g.ops, g.faults)
	out = append(out, contradictions(v)...)
	for _, p := range v.Properties {
		w, judged := want[p.Name]
		switch {
		case !judged || p.Verdict == checker.NotApplicable && w.verdict == checker.Pass:
		case w.open != "":
			counts["open: "+w.open]++
		case p.NotJudged["not searched"] > 0 && (p.Verdict != checker.Fail || w.verdict == checker.Fail):
			counts["not searched"]++
		case p.Verdict == w.verdict || p.Verdict == checker.Inconclusive && w.verdict == checker.Pass && (p.Judged == 0 || p.Name == verdicts.Linearizability):
			counts[string(p.Name)+" "+string(p.Verdict)]++
		default:
			out = append(out, fmt.Sprintf("%s is %s (%d judged, %v), the page says %s", p.Name, p.Verdict, p.Judged, p.NotJudged, w.verdict))
		}
		if unjudged := sum(p.NotJudged); w.counted && (p.Judged != w.judged || unjudged != w.unjudged) && !(w.open != "" || p.Verdict == checker.NotApplicable && w.judged == 0) {
			out = append(out, fmt.Sprintf("%s: %d judged and %v, the page says %d and %d", p.Name, p.Judged, p.NotJudged, w.judged, w.unjudged))
		}
		if w.summed && p.Judged+sum(p.NotJudged) != w.total {
			out = append(out, fmt.Sprintf("%s: %d judged and %v, the page says %d in all", p.Name, p.Judged, p.NotJudged, w.total))
		}
	}
	return out, true
}

// contradictions returns what two properties may not say at once: that an execution explains everything, and that none explains one reply. The records
// have no commands.
func contradictions(v *checker.Verdict) (out []string) {
	of := map[verdicts.Property]checker.Result{}
	for _, p := range v.Properties {
		of[p.Name] = p.Verdict
	}
	for _, p := range []verdicts.Property{verdicts.Refusal, verdicts.FencingOrder, verdicts.ReleaseSafety} {
		if of[p] == checker.Fail && of[verdicts.Linearizability] != checker.Fail {
			out = append(out, fmt.Sprintf("%s fails, and linearizability is %s", p, of[verdicts.Linearizability]))
		}
	}
	return out
}

func sum(counts map[string]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// smallest leaves out operations and faults as long as Check and judgePage disagree.
func (g *pageGenerator) smallest(t *testing.T) *pageGenerator {
	for i := range len(g.ops) + len(g.faults) {
		less := *g
		if i < len(g.ops) {
			less.ops = slices.Delete(slices.Clone(g.ops), i, i+1)
		} else {
			less.faults = slices.Delete(slices.Clone(g.faults), i-len(g.ops), i-len(g.ops)+1)
		}
		if out, _ := less.differences(t, map[string]int{}); len(out) > 0 {
			return less.smallest(t)
		}
	}
	return g
}

// TestVerdictsAreThoseOfThePage compares the verdicts of Check with those of a program that knows only docs/verdicts.md. LOCKBENCH_SOAK sets the
// number of histories of each kind, LOCKBENCH_SOAK_FROM the first seed.
func TestVerdictsAreThoseOfThePage(t *testing.T) { comparePage(t, 10_000, pageHistory) }

// TestVerdictsOfUnlikelyRecords does the same for records without sense.
func TestVerdictsOfUnlikelyRecords(t *testing.T) { comparePage(t, 5_000, unlikelyHistory) }

func comparePage(t *testing.T, n int, draw func(history.Kind, uint64) *pageGenerator) {
	for k, kind := range []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore} {
		t.Run(string(kind), func(t *testing.T) {
			counts := map[string]int{}
			for i := soakFrom(); i < soakFrom()+soak(n); i++ {
				g := draw(kind, uint64(k)<<40+uint64(i))
				out, ok := g.differences(t, counts)
				if !ok {
					counts["not well formed"]++
				}
				if len(out) == 0 {
					continue
				}
				if counts["DIFFER"]++; counts["DIFFER"] <= 12 {
					g = g.smallest(t)
					out, _ = g.differences(t, counts)
					t.Errorf("seed %d: %s\n%s", i, strings.Join(out, "; "), g)
				}
			}
			t.Log(counts)
		})
	}
}
