package latency

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/lockbench/lockbench/history"
)

// Wait splits the time of the granted acquires, in nanoseconds, summed over all of them. The four
// parts add up to the time from intended start to return. At each instant the first that applies
// counts: the generator was late; another client held the lock; a command of this client was under
// way; the client slept between attempts or missed a notification.
type Wait struct {
	Acquires     int64 `json:"acquires"`      // number of granted acquires
	GeneratorLag int64 `json:"generator_lag"` // from the intended start to the call
	BehindHolder int64 `json:"behind_holder"`
	RoundTrips   int64 `json:"round_trips"`
	RetrySleep   int64 `json:"retry_sleep"`
}

// Total returns the sum of the parts.
func (w Wait) Total() int64 { return w.GeneratorLag + w.BehindHolder + w.RoundTrips + w.RetrySleep }

// SplitWait splits the waiting for exclusive locks. lease ends a hold never released; 0: never. A
// history does not have lag, the generator's part.
func SplitWait(ops []history.Operation, commands []history.Command, lease, lag int64) Wait {
	held, flights := holdsByKey(ops, lease), map[string][]span{} // when each client had a command under way
	for _, c := range commands {
		if c.Replied > 0 {
			flights[c.Client] = append(flights[c.Client], span{c.Sent, c.Replied})
		}
	}
	for client, all := range flights {
		flights[client] = union(all)
	}
	w := Wait{GeneratorLag: lag}
	for i := range ops {
		op := &ops[i]
		if !op.Granted() {
			continue
		}
		w.Acquires++
		free := freeFor(held[op.Key], op.Client, span{op.Call, op.Return})
		idle, flying, theirs := int64(0), int64(0), flights[op.Client]
		for _, f := range free {
			idle += f.to - f.from
			n := sort.Search(len(theirs), func(n int) bool { return theirs[n].to >= f.from })
			for ; n < len(theirs) && theirs[n].from < f.to; n++ {
				flying += min(theirs[n].to, f.to) - max(theirs[n].from, f.from)
			}
		}
		w.BehindHolder += op.Return - op.Call - idle
		w.RoundTrips += flying
		w.RetrySleep += idle - flying
	}
	return w
}

// Pair is a release and the next grant, of a waiting client.
type Pair struct{ Release, Grant *history.Operation }

// Pairs returns the hand-overs: each successful release with the next grant of its key, if that is
// to another client that had called before.
func Pairs(ops []history.Operation) (out []Pair) {
	grants := map[string][]*history.Operation{}
	for i := range ops {
		if ops[i].Granted() {
			grants[ops[i].Key] = append(grants[ops[i].Key], &ops[i])
		}
	}
	for _, g := range grants {
		slices.SortFunc(g, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
	}
	for i := range ops {
		op := &ops[i]
		if op.Op != history.Release || op.Outcome != history.OK {
			continue
		}
		g := grants[op.Key]
		n := sort.Search(len(g), func(n int) bool { return g[n].Return > op.Call })
		if n < len(g) && g[n].Client != op.Client && g[n].Call < op.Call {
			out = append(out, Pair{op, g[n]})
		}
	}
	return out
}

// AddHandOvers adds the hand-overs of a history, from the call of the release to the return of the
// grant.
func (s *Set) AddHandOvers(ops []history.Operation) {
	for _, h := range Pairs(ops) {
		s.Add(HandOver, h.Release.Call, h.Release.Call, h.Grant.Return)
	}
}

// hold is the time in which one client held a key.
type hold struct {
	client string
	span
	reach int64 // the latest end of it and of those of the key that began earlier
}

// holdsByKey returns the holds by key, ordered by start: from the return of a grant to that of its
// release, at most a lease after the last grant or extend.
func holdsByKey(ops []history.Operation, lease int64) map[string][]hold {
	expiry := func(at int64) int64 {
		if lease == 0 {
			return math.MaxInt64
		}
		return at + lease
	}
	byActor := map[[2]string][]*history.Operation{}
	for i := range ops {
		switch op := &ops[i]; op.Op {
		case history.Acquire, history.Extend, history.Release:
			actor := [2]string{op.Key, op.Client}
			byActor[actor] = append(byActor[actor], op)
		}
	}
	out := map[string][]hold{}
	for actor, theirs := range byActor {
		slices.SortFunc(theirs, func(a, b *history.Operation) int { return cmp.Compare(a.Return, b.Return) })
		all, open := out[actor[0]], false
		for _, op := range theirs {
			switch last := len(all) - 1; {
			case op.Granted():
				all, open = append(all, hold{client: actor[1], span: span{op.Return, expiry(op.Return)}}), true
			case open && op.Op == history.Extend && op.Outcome == history.OK:
				all[last].to = expiry(op.Return)
			case open && op.Op == history.Release:
				all[last].to, open = min(all[last].to, op.Return), false
			}
		}
		out[actor[0]] = all
	}
	for _, all := range out {
		slices.SortFunc(all, func(a, b hold) int { return cmp.Compare(a.from, b.from) })
		latest := int64(math.MinInt64)
		for i := range all {
			latest = max(latest, all[i].to)
			all[i].reach = latest
		}
	}
	return out
}

// freeFor returns the parts of an interval in which no other client held the key of these holds.
func freeFor(holds []hold, client string, in span) (free []span) {
	at := in.from
	first := sort.Search(len(holds), func(i int) bool { return holds[i].reach >= in.from })
	for _, one := range holds[first:] {
		if one.from >= in.to {
			break
		}
		if one.client == client {
			continue
		}
		if one.from > at {
			free = append(free, span{at, one.from})
		}
		at = max(at, one.to)
	}
	if at < in.to {
		free = append(free, span{at, in.to})
	}
	return free
}

// span is a closed interval.
type span struct{ from, to int64 }

// union joins intervals: the result is disjoint and ascending.
func union(all []span) (out []span) {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}
