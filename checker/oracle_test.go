package checker

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// The oracle is VERDICTS §2 once more, by brute force and without a thought: every integer instant one after the other, at each of them every effect that may
// happen and every lease that may have ended, and every way in which the clients' clocks may be off. Where all times are integers that loses nothing,
// for the constraints are differences. It shares no code with the checker.
type oracle struct {
	head  history.Header // times in milliseconds
	ops   []history.Operation
	rules rule
	seen  map[string]bool
	key   []byte
	shift map[string]int64 // by client
}

// oracleHold is a hold that the oracle's server keeps.
type oracleHold struct {
	op   int
	last int64
}

func (o *oracle) exists(rules rule) bool {
	o.rules = rules
	clients := []string{}
	for _, op := range o.ops {
		if !slices.Contains(clients, op.Client) {
			clients = append(clients, op.Client)
		}
	}
	o.shift = map[string]int64{}
	return o.shifts(clients)
}

func (o *oracle) shifts(clients []string) bool {
	if len(clients) == 0 {
		o.seen = map[string]bool{}
		return o.walk(-10, 0, nil, 0, map[int]bool{})
	}
	for s := range o.head.ClockError + 1 {
		o.shift[clients[0]] = s
		if o.shifts(clients[1:]) {
			return true
		}
	}
	return false
}

func (o *oracle) walk(t int64, done uint, holds []oracleHold, fence uint64, released map[int]bool) bool {
	all := true
	for i, op := range o.ops {
		if done&(1<<i) != 0 || op.Outcome == history.Unknown {
			continue
		}
		if all = false; op.Return+o.shift[op.Client] < t {
			return false
		}
	}
	if all {
		return true
	}
	for _, h := range holds {
		if o.head.Lease > 0 && t > h.last+o.head.Lease+o.head.Drift+1 {
			return false
		}
	}
	key := o.key[:0]
	for _, h := range holds {
		key = binary.AppendVarint(append(key, byte(h.op)), h.last)
	}
	for i := range o.ops {
		if released[i] {
			key = append(key, byte(100+i))
		}
	}
	key = binary.AppendUvarint(binary.AppendUvarint(binary.AppendVarint(key, t), uint64(done)), fence)
	if o.key = key; o.seen[string(key)] {
		return false
	}
	o.seen[string(key)] = true
	for i, op := range o.ops {
		from := op.Call
		if op.Asked != 0 {
			from = op.Asked
		}
		late := op.Outcome != history.Unknown && op.Return+o.shift[op.Client] < t
		if done&(1<<i) == 0 && from+o.shift[op.Client] <= t && !late && o.effect(t, i, done|1<<i, holds, fence, released) {
			return true
		}
	}
	for i, h := range holds { // its lease has ended
		if o.head.Lease > 0 && t >= h.last+o.head.Lease {
			if o.walk(t, done, slices.Delete(slices.Clone(holds), i, i+1), fence, released) {
				return true
			}
		}
	}
	return o.walk(t+1, done, holds, fence, released)
}

// mine reports whether an operation may mean a hold.
func (o *oracle) mine(op history.Operation, h int) bool {
	a := o.ops[h]
	if a.Client != op.Client || op.Token != "" && a.Token != "" && op.Token != a.Token {
		return false
	}
	if op.Token != "" && a.Token != "" {
		return true
	}
	named := op.ModeNamed || op.Mode == history.Shared
	return a.Call <= op.Call && (!named || op.Mode == a.Mode)
}

func (o *oracle) effect(t int64, i int, done uint, holds []oracleHold, fence uint64, released map[int]bool) bool {
	op := o.ops[i]
	in := func(r rule) bool { return o.rules&r != 0 }
	renew := func(holds []oracleHold, only int) []oracleHold {
		out := slices.Clone(holds)
		for n := range out {
			if n == only || o.head.Kind == history.Reentrant && o.ops[out[n].op].Client == op.Client {
				out[n].last = t
			}
		}
		return out
	}
	gone := func(n int) map[int]bool {
		out := map[int]bool{holds[n].op: true}
		for k := range released {
			out[k] = true
		}
		return out
	}
	elsewhere := func() bool { // it may mean a hold that is open and not there
		for k, a := range o.ops {
			there := slices.ContainsFunc(holds, func(h oracleHold) bool { return h.op == k })
			if a.Op == history.Acquire && a.Outcome == history.OK && done&(1<<k) != 0 && !there && !released[k] && o.mine(op, k) {
				return true
			}
		}
		return false
	}
	own := []int{}
	for n, h := range holds {
		if o.mine(op, h.op) {
			own = append(own, n)
		}
	}
	switch {
	case op.Op == history.Acquire && op.Outcome == history.Busy:
		n := 0
		for _, h := range holds {
			if o.head.Kind != history.RW || op.Mode == history.Exclusive || o.ops[h.op].Mode == history.Exclusive {
				n++
			}
		}
		return (!in(ruleRefusals) || n >= o.head.Permits) && o.walk(t, done, holds, fence, released)
	case op.Op == history.Acquire:
		n, again := 0, false
		for _, h := range holds {
			a := o.ops[h.op]
			same := a.Client == op.Client
			switch o.head.Kind {
			case history.Reentrant:
				again = again || same
				if !same {
					n++
				}
			case history.RW:
				both := a.Mode == history.Exclusive && op.Mode == history.Exclusive
				if both || !same && (a.Mode == history.Exclusive || op.Mode == history.Exclusive) {
					n++
				}
			default:
				n++
			}
		}
		if n >= o.head.Permits && (in(ruleGrants) || op.Outcome == history.Unknown) {
			return false
		}
		if f := op.Fence; f != 0 && op.Outcome == history.OK && op.Mode == history.Exclusive {
			if in(ruleFences) && (f < fence || f == fence && !again) {
				return false
			}
			fence = max(fence, f)
		}
		return o.walk(t, done, append(renew(holds, -1), oracleHold{i, t}), fence, released)
	case op.Outcome == history.NotHeld || op.Outcome == history.LostHold:
		ok := len(own) == 0 || o.head.Kind != history.Reentrant && elsewhere()
		return ok && o.walk(t, done, holds, fence, released)
	case op.Op == history.Extend:
		for _, n := range own {
			if o.walk(t, done, renew(holds, n), fence, released) {
				return true
			}
		}
		return !in(ruleClaims) && o.walk(t, done, holds, fence, released)
	}
	for n := range holds { // a release
		mine := slices.Contains(own, n)
		if !mine && (in(ruleClaims) || op.Outcome == history.Unknown) {
			continue
		}
		ended := released
		if mine {
			ended = gone(n)
		}
		left := slices.Delete(slices.Clone(holds), n, n+1)
		if o.walk(t, done, left, fence, ended) || o.walk(t, done, renew(left, -1), fence, ended) {
			return true
		}
	}
	return op.Outcome != history.Unknown && (len(own) == 0 || elsewhere()) && o.walk(t, done, holds, fence, released)
}

// oracleSettings are the kinds of lock, each with leases and without.
func oracleSettings() (out []setting) {
	for _, kind := range []history.Kind{history.Mutex, history.Reentrant, history.RW, history.Semaphore} {
		out = append(out, setting{name: string(kind), head: history.Header{Kind: kind, Permits: 1}})
	}
	out[3].head.Permits = 2
	return out
}

// leasedHistory draws a history of a server with leases, in milliseconds: what a correct one did, changed at a place or two.
func leasedHistory(s setting, r *rand.Rand) (history.Header, []history.Operation) {
	g := &leasedGenerator{head: s.head, rand: r, tokens: r.IntN(2) == 0, idle: map[string]int64{}, open: map[string][]int{}}
	g.head.Lease = []int64{0, 1, 3, 5, 20}[r.IntN(5)]
	g.head.Drift = r.Int64N(2) * min(g.head.Lease, 1)
	g.head.ClockError = []int64{0, 0, 0, 1, 2}[r.IntN(5)]
	g.width = 1 + r.Int64N(6)
	for range 3 + r.IntN(5) {
		g.now += r.Int64N(4)
		if r.IntN(6) == 0 {
			g.now += g.head.Lease
		}
		g.step()
	}
	for range r.IntN(3) {
		if len(g.ops) > 0 {
			g.spoil(&g.ops[r.IntN(len(g.ops))])
		}
	}
	return g.head, g.ops
}

type leasedGenerator struct {
	head   history.Header
	rand   *rand.Rand
	tokens bool
	width  int64
	now    int64
	fence  uint64
	idle   map[string]int64
	open   map[string][]int // by client: its grants, in order
	holds  []oracleHold
	ops    []history.Operation
}

func (g *leasedGenerator) step() {
	op := history.Operation{ID: uint64(len(g.ops)) + 1, Client: string(rune('a' + g.rand.IntN(3))), Key: "k"}
	if g.idle[op.Client] > g.now {
		return
	}
	op.Call = max(g.idle[op.Client], g.now-g.rand.Int64N(g.width))
	op.Return = g.now + g.rand.Int64N(g.width)
	g.holds = slices.DeleteFunc(g.holds, func(h oracleHold) bool { return g.head.Lease > 0 && h.last+g.head.Lease <= g.now })
	mine := g.open[op.Client]
	switch {
	case len(mine) == 0 || g.rand.IntN(5) == 0 && g.head.Kind == history.Reentrant || g.rand.IntN(8) == 0:
		g.acquire(&op)
	case g.rand.IntN(3) == 0:
		g.renew(&op, mine)
	default:
		g.release(&op, mine)
	}
	g.idle[op.Client] = op.Return + 1
	g.ops = append(g.ops, op)
}

func (g *leasedGenerator) acquire(op *history.Operation) {
	op.Op = history.Acquire
	if g.head.Kind == history.RW && g.rand.IntN(2) == 0 {
		op.Mode = history.Shared
	}
	taken := 0
	for _, h := range g.holds {
		a := g.ops[h.op]
		shared := op.Mode == history.Shared && a.Mode == history.Shared
		if !shared && (a.Client != op.Client || g.head.Kind != history.Reentrant) {
			taken++
		}
	}
	free := taken < g.head.Permits
	switch {
	case g.rand.IntN(7) == 0:
		op.Outcome = history.Unknown
		if free && g.rand.IntN(2) == 0 {
			g.holds = append(g.holds, oracleHold{len(g.ops), g.now})
		}
		return
	case !free:
		op.Outcome = history.Busy
		return
	}
	op.Outcome = history.OK
	if g.tokens {
		op.Token = "t" + strconv.Itoa(len(g.ops))
		if g.head.Kind == history.Reentrant {
			op.Token = "t" + op.Client
		}
	}
	if g.rand.IntN(3) == 0 && g.now > 0 {
		op.Asked = g.rand.Int64N(g.now-max(op.Call, 0)+1) + max(op.Call, 0)
	}
	if g.fence++; g.tokens && op.Mode == history.Exclusive {
		op.Fence = g.fence
	}
	g.holds = append(g.holds, oracleHold{len(g.ops), g.now})
	g.open[op.Client] = append(g.open[op.Client], len(g.ops))
}

// about makes an operation one of a hold of its client, mostly the last, and tells where that is in force.
func (g *leasedGenerator) about(op *history.Operation, mine []int) (grant, at int) {
	grant = mine[len(mine)-1]
	if g.rand.IntN(4) == 0 {
		grant = mine[g.rand.IntN(len(mine))]
	}
	if op.Token = g.ops[grant].Token; g.rand.IntN(8) == 0 {
		op.Token = ""
	}
	op.Mode = g.ops[grant].Mode
	return grant, slices.IndexFunc(g.holds, func(h oracleHold) bool { return h.op == grant })
}

func (g *leasedGenerator) renew(op *history.Operation, mine []int) {
	op.Op = history.Extend
	_, at := g.about(op, mine)
	op.Outcome = history.OK
	if at < 0 {
		op.Outcome = history.LostHold
	} else {
		g.holds[at].last = g.now
	}
	if g.rand.IntN(8) == 0 {
		op.Outcome = history.Unknown
	}
}

func (g *leasedGenerator) release(op *history.Operation, mine []int) {
	op.Op = history.Release
	grant, at := g.about(op, mine)
	op.Outcome = history.OK
	if at < 0 && g.rand.IntN(2) == 0 {
		op.Outcome = history.NotHeld
	}
	unknown := g.rand.IntN(8) == 0
	if unknown {
		op.Outcome = history.Unknown
	}
	if at >= 0 && (!unknown || g.rand.IntN(2) == 0) {
		g.holds = slices.Delete(g.holds, at, at+1)
	}
	if !unknown {
		g.open[op.Client] = slices.DeleteFunc(slices.Clone(mine), func(n int) bool { return n == grant })
	}
}

// spoil changes an operation so that the history stays well formed.
func (g *leasedGenerator) spoil(op *history.Operation) {
	switch g.rand.IntN(6) {
	case 0:
		op.Return = max(op.Call, op.Asked)
	case 1:
		op.Call = op.Return
		op.Asked = 0
	case 2:
		op.Fence += min(op.Fence, uint64(g.rand.IntN(3)))
	case 3:
		if op.Op == history.Acquire && op.Outcome != history.OK {
			op.Outcome = []history.Outcome{history.Busy, history.OK}[g.rand.IntN(2)]
		} else if op.Op != history.Acquire {
			op.Outcome = []history.Outcome{history.OK, history.NotHeld, history.Unknown}[g.rand.IntN(3)]
		}
	case 4:
		op.Token = ""
	default:
		if op.Op == history.Acquire {
			op.Outcome, op.Token, op.Fence, op.Asked = history.Busy, "", 0, 0
		}
	}
}

// inNanoseconds makes a history in milliseconds one that the checker reads.
func inNanoseconds(h history.Header, ops []history.Operation) (history.Header, []history.Operation) {
	h.Lease, h.Drift, h.ClockError = h.Lease*msec, h.Drift*msec, h.ClockError*msec
	out := slices.Clone(ops)
	for i := range out {
		out[i].Call, out[i].Return, out[i].Asked = out[i].Call*msec, out[i].Return*msec, out[i].Asked*msec
	}
	return h, out
}

// TestExecutionsAgreeWithTheOracle compares the search of the abstract server with brute force, under all rules and without each of them.
// LOCKBENCH_SOAK=1 compares a million of each kind.
func TestExecutionsAgreeWithTheOracle(t *testing.T) {
	n := 10_000
	if raceDetector {
		n = 500
	}
	if os.Getenv("LOCKBENCH_SOAK") != "" {
		n = 1_000_000
	}
	for i, s := range oracleSettings() {
		t.Run(s.name, func(t *testing.T) {
			var next, legal, open atomic.Int64
			var workers sync.WaitGroup
			for range runtime.GOMAXPROCS(0) {
				workers.Go(func() {
					for k := next.Add(1); k <= int64(n) && !t.Failed(); k = next.Add(1) {
						compareWithOracle(t, s, uint64(i)<<40+uint64(k), &legal, &open)
					}
				})
			}
			workers.Wait()
			t.Logf("%d histories, %d with an execution, %d not decided", n, legal.Load(), open.Load())
			if legal.Load() == 0 || int(legal.Load()) == n {
				t.Error("the histories are all of one sort")
			}
		})
	}
}

func compareWithOracle(t *testing.T, s setting, seed uint64, legal, open *atomic.Int64) {
	head, ops := leasedHistory(s, rand.New(rand.NewPCG(seed, 3)))
	o := &oracle{head: head, ops: ops}
	inNanos, shuffled := inNanoseconds(head, ops)
	rand.New(rand.NewPCG(seed, 4)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	x := executionsOf(t, Input{Header: inNanos}, shuffled)
	for _, rules := range []rule{allRules, allRules &^ ruleGrants, allRules &^ ruleRefusals, allRules &^ ruleClaims, allRules &^ ruleFences} {
		got, known := x.exist(rules)
		if !known {
			open.Add(1)
			return
		}
		want := o.exists(rules)
		if got != want {
			t.Errorf("seed %d, rules %04b: the oracle says %v, the executions %v\n%+v\n%s", seed, rules, want, got, head, drawLeased(ops))
			return
		}
		if rules == allRules && want {
			legal.Add(1)
		}
		if want {
			return // leaving out a rule takes nothing away
		}
	}
}

func drawLeased(ops []history.Operation) (text string) {
	for _, op := range ops {
		text += fmt.Sprintf("%s %s %d %d %s %s token=%s asked=%d fence=%d\n", op.Client, op.Op, op.Call, op.Return, op.Outcome, op.Mode, op.Token, op.Asked, op.Fence)
	}
	return text
}
