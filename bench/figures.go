package bench

import (
	"iter"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
	"github.com/lockbench/lockbench/workloads"
)

// slice is the record of one turn. Every time is in nanoseconds on the run's base.
type slice struct {
	Ops       []history.Operation // by call
	Commands  []history.Command
	Windows   []history.Window // of faults
	From, To  int64            // the measured time: after the warm-up, up to the end of the length
	Setting   results.BenchSetting
	Open      workloads.OpenLoop // the load, if the setting has a rate
	RoundTrip time.Duration      // of a PING; 0: not known
	ClientCPU time.Duration      // of this process from From to To
	ServerCPU time.Duration      // of the lock's servers; negative: not known
	Bytes     int64              // to and from the lock's servers
}

type figureSample struct {
	Value *float64  // nil: too few samples
	Count int64     // samples
	Raw   []float64 // the samples, of a percentile, unless they are enough for the highest
}

// measureSlice returns the figures of one turn by metric; it omits metrics that do not apply.
func measureSlice(s slice) map[string]figureSample {
	m := measuring{slice: s, out: map[string]figureSample{}}
	m.rounds()
	m.waits()
	m.holds()
	m.handOvers()
	m.perHold()
	m.faults()
	return m.out
}

type measuring struct {
	slice
	out     map[string]figureSample
	granted int64 // grants within the measured time
}

// within reports whether an instant is in the measured time.
func (s *slice) within(at int64) bool { return at >= s.From && at < s.To }

func (m *measuring) set(name string, value float64, count int64) {
	m.out[name] = figureSample{Value: &value, Count: count}
}

// spread sets the percentiles of a distribution; it divides each value by scale.
func (m *measuring) spread(name string, values []int64, scale float64) {
	if len(values) == 0 {
		return
	}
	slices.Sort(values)
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = float64(v) / scale
	}
	all := results.Quantiles()
	_, most, _ := results.Quantile(all[len(all)-1])
	for _, p := range all {
		q, need, _ := results.Quantile(p)
		s := figureSample{Count: int64(len(values))}
		if s.Count < most {
			s.Raw = scaled
		}
		if s.Count >= need {
			v := quantile(scaled, q)
			s.Value = &v
		}
		m.out[name+"."+p] = s
	}
}

func (m *measuring) rounds() {
	var asked, errors int64
	perClient := make([]int64, m.Setting.Clients)
	for i := range m.Ops {
		op := &m.Ops[i]
		if op.Op != history.Acquire {
			continue
		}
		if m.within(op.Call) {
			asked++
			if op.Outcome == history.Fail || op.Outcome == history.Unknown {
				errors++
			}
		}
		if op.Granted() && m.within(op.Return) {
			m.granted++
			if c := workloads.ClientIndex(op.Client); c >= 0 && c < len(perClient) {
				perClient[c]++
			}
		}
	}
	seconds := float64(m.To-m.From) / 1e9
	if seconds <= 0 {
		return
	}
	m.set("throughput", float64(m.granted)/seconds, m.granted)
	if asked > 0 {
		m.set("errors", float64(errors)/float64(asked), asked)
	}
	if m.Open.Rate > 0 {
		m.set("achieved", float64(m.granted)/seconds/m.Open.Offered(m.From, m.To), m.granted)
	}
	if m.Setting.Clients > 1 && m.granted > 0 {
		m.set("jain", jain(perClient), m.granted)
		m.set("bypasses", float64(bypasses(m.Ops, m.From, m.To))/float64(m.granted), m.granted)
	}
}

// acquires yields the acquires whose intended start is in the measured time, each with that start:
// in an open loop a client's n-th acquire starts at the n-th instant of its pace, else with its
// call.
func (s *slice) acquires() iter.Seq2[*history.Operation, int64] {
	return func(yield func(*history.Operation, int64) bool) {
		paces, turns := map[string]func(n int) int64{}, map[string]int{}
		for i := range s.Ops {
			op := &s.Ops[i]
			if op.Op != history.Acquire {
				continue
			}
			start := op.Call
			if s.Open.Rate > 0 {
				if paces[op.Client] == nil {
					paces[op.Client] = s.Open.Starts(workloads.ClientIndex(op.Client))
				}
				start = paces[op.Client](turns[op.Client])
				turns[op.Client]++
			}
			if s.within(start) && !yield(op, start) {
				return
			}
		}
	}
}

func (m *measuring) waits() {
	var response, service []int64
	var late, starts, longest int64
	for op, start := range m.acquires() {
		starts++
		if op.Call-start > results.LateBy {
			late++
		}
		longest = max(longest, op.Return-start)
		if op.Granted() {
			response, service = append(response, op.Return-start), append(service, op.Return-op.Call)
		}
	}
	m.spread("acquire", response, 1)
	m.spread("acquire.service", service, 1)
	if starts > 0 {
		m.set("longest-wait", float64(longest), starts)
	}
	if starts > 0 && m.Open.Rate > 0 {
		m.set("late", float64(late)/float64(starts), starts)
	}
}

// holds measures the times from grant to release, the releases, and the extends.
func (m *measuring) holds() {
	type place struct{ client, key string }
	open := map[place]int64{} // when the grant returned
	var holds, releases, extends []int64
	for i := range m.Ops {
		op := &m.Ops[i]
		at := place{op.Client, op.Key}
		switch {
		case op.Granted():
			open[at] = op.Return
		case op.Op == history.Release:
			if since, held := open[at]; held && m.within(since) {
				holds = append(holds, op.Call-since)
			}
			delete(open, at)
			if op.Outcome == history.OK && m.within(op.Call) {
				releases = append(releases, op.Return-op.Call)
			}
		case op.Op == history.Extend && op.Outcome == history.OK && m.within(op.Call):
			extends = append(extends, op.Return-op.Call)
		}
	}
	m.spread("hold", holds, 1)
	m.spread("release", releases, 1)
	m.spread("extend", extends, 1)
}

// handOvers measures the time from the call of a release, and in round trips from when the server
// freed the lock, to the next client's grant.
func (m *measuring) handOvers() {
	commands := sentBy(m.Commands)
	var total, unheld []int64
	for _, h := range latency.Pairs(m.Ops) {
		if !m.within(h.Release.Call) {
			continue
		}
		total = append(total, h.Grant.Return-h.Release.Call)
		if at, ok := freedAt(h.Release, commands[h.Release.Client]); ok && h.Grant.Return > at {
			unheld = append(unheld, h.Grant.Return-at)
		}
	}
	m.spread("hand-over", total, 1)
	if m.RoundTrip > 0 {
		m.spread("hand-over.trips", unheld, float64(m.RoundTrip))
	}
}

// perHold divides the costs in the measured time by the number of holds.
func (m *measuring) perHold() {
	if m.granted == 0 {
		return
	}
	var requests int64
	for i := range m.Commands {
		if c := &m.Commands[i]; c.Node >= 0 && m.within(c.Sent) {
			requests++
		}
	}
	holds := float64(m.granted)
	m.set("requests", float64(requests)/holds, m.granted)
	m.set("bytes", float64(m.Bytes)/holds, m.granted)
	if m.ClientCPU > 0 {
		m.set("client-cpu", float64(m.ClientCPU)/holds, m.granted)
	}
	if m.ServerCPU >= 0 {
		m.set("server-cpu", float64(m.ServerCPU)/holds, m.granted)
	}
}

// faults measures the throughput while faults lasted, and how soon grants resumed.
func (m *measuring) faults() {
	var inside, lasted int64
	for _, w := range m.Windows {
		start, end := max(w.Start, m.From), min(w.Last(), m.To)
		if w.Confirmed && end > start {
			lasted += end - start
			for i := range m.Ops {
				if op := &m.Ops[i]; op.Granted() && op.Return >= start && op.Return < end {
					inside++
				}
			}
		}
		if w.Fault == crashClient {
			m.soonest("recovery", w.Start, w.Client)
		} else if w.Confirmed && w.End > 0 && m.within(w.End) {
			m.soonest("fault.recovery", w.End, "")
		}
	}
	if lasted > 0 && !m.Setting.Crash {
		m.set("fault.throughput", float64(inside)/(float64(lasted)/1e9), inside)
	}
}

// soonest sets the time from an instant to the next grant of another client; over several instants,
// the longest.
func (m *measuring) soonest(name string, since int64, but string) {
	best := int64(-1)
	for i := range m.Ops {
		op := &m.Ops[i]
		if op.Granted() && op.Client != but && op.Return > since && (best < 0 || op.Return-since < best) {
			best = op.Return - since
		}
	}
	if best < 0 {
		return
	}
	if last := m.out[name]; last.Value == nil || *last.Value < float64(best) {
		m.set(name, float64(best), last.Count+1)
	}
}

// sentBy returns the answered commands of each client, in their order: by the time at which they
// were sent.
func sentBy(commands []history.Command) map[string][]*history.Command {
	out := map[string][]*history.Command{}
	for i := range commands {
		if c := &commands[i]; c.Node >= 0 && c.Replied > 0 {
			out[c.Client] = append(out[c.Client], c)
		}
	}
	return out
}

// freedAt estimates when the server executed the command that freed the lock, as the middle between
// sending it and its reply: the release's last on each node that changes data, and of several
// nodes, when a majority has. all are its client's commands; ok is false if the release sent none.
func freedAt(release *history.Operation, all []*history.Command) (at int64, ok bool) {
	first := sort.Search(len(all), func(i int) bool { return all[i].Sent >= release.Call })
	freed := map[int]int64{}
	for _, c := range all[first:] {
		if c.Sent > release.Return {
			break
		}
		if resp.IsWrite(c.Name) && c.Name != "PUBLISH" && c.Name != "SPUBLISH" {
			freed[c.Node] = c.Sent + (c.Replied-c.Sent)/2
		}
	}
	if len(freed) == 0 {
		return 0, false
	}
	middles := slices.Sorted(maps.Values(freed))
	return middles[len(middles)/2], true
}
