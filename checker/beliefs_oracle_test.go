package checker

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// believed is a stretch of belief as VERDICTS §1 defines it, found by rereading the whole record for each grant; surely until end, perhaps until most.
type believed struct {
	op               int // the grant
	start, end, most int64
}

// toldUntil is until in the table of §1.
func toldUntil(h history.Header, op history.Operation) (end, most int64) {
	switch {
	case op.ValidUntil > op.Return:
		return op.ValidUntil, op.ValidUntil
	case h.Lease == 0:
		return math.MaxInt64, math.MaxInt64
	case op.Asked != 0:
		return op.Asked + h.Lease - h.Drift, op.Asked + h.Lease - h.Drift
	}
	end = op.Call + h.Lease - h.Drift
	if op.Op == history.Acquire && 10*(op.Return-op.Call) >= h.Lease {
		return end, op.Return + h.Lease - h.Drift
	}
	return end, end
}

// beliefsOf returns every belief of a mutex's record whose grants and other operations all have tokens and whose crashes are given by client, none later than
// its client's last operation.
func beliefsOf(h history.Header, ops []history.Operation, crash map[string]int64) (out []believed) {
	for i, a := range ops {
		if a.Op != history.Acquire || a.Outcome != history.OK {
			continue
		}
		stop := int64(math.MaxInt64) // the belief is over for good
		if at, ok := crash[a.Client]; ok && at >= a.Return {
			stop = at
		}
		type renewal struct{ at, end int64 }
		var renewals []renewal
		for _, op := range ops {
			if op.Client != a.Client || op.Token != a.Token || op.Call < a.Call || op.Op == history.Lost && op.Call < a.Return { // not open yet
				continue
			}
			switch {
			case op.Op == history.Release, op.Op == history.Lost:
				stop = min(stop, op.Call)
			case op.Op == history.Extend && (op.Outcome == history.LostHold || op.Outcome == history.NotHeld):
				stop = min(stop, op.Return)
			case op.Op == history.Extend && op.Outcome == history.OK:
				end, _ := toldUntil(h, op)
				renewals = append(renewals, renewal{op.Return, end})
			}
		}
		end, most := toldUntil(h, a)
		now := believed{i, a.Return, end, most}
		for len(renewals) > 0 { // the earliest next
			first := 0
			for k := range renewals {
				if renewals[k].at < renewals[first].at {
					first = k
				}
			}
			n := renewals[first]
			renewals[first] = renewals[len(renewals)-1]
			renewals = renewals[:len(renewals)-1]
			if n.at > stop {
				continue
			}
			if n.at <= now.end {
				now.end, now.most = max(now.end, n.end), max(now.most, n.end)
				continue
			}
			now.most = min(now.most, n.at)
			out = append(out, now)
			now = believed{i, n.at, n.end, n.end}
		}
		out = append(out, now)
		for k := range out {
			if out[k].op == i {
				out[k].end, out[k].most = min(out[k].end, stop), min(out[k].most, stop)
			}
		}
	}
	return out
}

// longestOverlap returns the longest time for which two beliefs of a mutex surely overlap, and perhaps.
func longestOverlap(all []believed) (surely, perhaps int64) {
	for i, a := range all {
		for _, b := range all[:i] {
			if a.op == b.op {
				continue
			}
			surely = max(surely, min(a.end, b.end)-max(a.start, b.start))
			perhaps = max(perhaps, min(a.most, b.most)-max(a.start, b.start))
		}
	}
	return surely, perhaps
}

// TestMutualExclusionAgreesWithTheTable compares the sweep over holds with the table of VERDICTS §1, read pair by pair: leases, valid-until, asked, late and
// refused extends, losses, crashes confirmed and not, older tokens, clock errors, equal instants, shuffled lines.
func TestMutualExclusionAgreesWithTheTable(t *testing.T) {
	counts := map[Result]int{}
	for seed := range uint64(10_000) {
		r := rand.New(rand.NewPCG(seed, 5))
		head, ops := leasedHistory(setting{head: history.Header{Kind: history.Mutex, Permits: 1}}, r)
		crash, faults := map[string]int64{}, []history.Window(nil)
		var last int64
		for i := range ops {
			op := &ops[i]
			if op.Token == "" && op.Op != history.Acquire {
				op.Token = "none"
			}
			if op.Op == history.Acquire && op.Outcome == history.OK {
				op.Token = "t" + string(rune('A'+i))
			}
			if op.Outcome == history.OK && op.Op != history.Release && r.IntN(3) == 0 {
				op.ValidUntil = max(1, op.Return+r.Int64N(12)-3)
			}
			last = max(last, op.Return)
		}
		for n := r.IntN(3); n > 0; n-- { // told of a loss, by any token
			of := ops[r.IntN(max(len(ops), 1))%len(ops)]
			if of.Token == "" {
				of.Token = "none"
			}
			at := of.Call + r.Int64N(8)
			ops = append(ops, history.Operation{ID: 100 + uint64(n), Client: of.Client, Key: "k", Op: history.Lost, Token: of.Token, Call: at, Return: at})
		}
		if r.IntN(3) == 0 {
			at, confirmed := r.Int64N(last+3), r.IntN(2) == 0
			faults = append(faults, history.Window{Fault: faultCrashClient, Client: "a", Node: -1, Start: at * msec, Confirmed: confirmed})
			if confirmed {
				crash["a"] = at
			}
		}
		surely, perhaps := longestOverlap(beliefsOf(head, ops, crash))
		in, nanos := inNanoseconds(head, ops)
		for i := range nanos {
			nanos[i].ValidUntil *= msec
		}
		r.Shuffle(len(nanos), func(i, j int) { nanos[i], nanos[j] = nanos[j], nanos[i] })
		p := verdictOf(t, Input{Header: in, Faults: faults}, nanos, Options{Bare: true}).property(verdicts.MutualExclusion)
		counts[p.Verdict]++
		fails := surely > head.ClockError
		if (p.Verdict == Fail) != fails || p.Verdict == Pass && surely > 0 || p.Verdict == Pass && perhaps > head.ClockError && len(p.NotJudged) == 0 {
			t.Fatalf("seed %d: overlaps of surely %d and perhaps %d ms, and the verdict is %+v\n%+v %v\n%s", seed, surely, perhaps, p, head, faults, drawLeased(ops))
		}
	}
	t.Log(counts)
	if counts[Pass] == 0 || counts[Fail] == 0 || counts[Inconclusive] == 0 {
		t.Error("the histories are all of one sort")
	}
}
