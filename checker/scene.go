package checker

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// never stands for an end that does not come.
const never int64 = math.MaxInt64

// scene is what is known of one key around one violation, arranged for explaining it: who held it when, which commands
// touched it, which faults were active. It is made from part of the record and never judges.
type scene struct {
	header history.Header
	key    string
	ops    []history.Operation // of the key, by call
	steps  []step              // commands that touched the lock's keys, by time sent
	faults []history.Window
	holds  []*hold // by start
	// everGranted tells by mode whether any acquire was granted in the whole run, the part that is not in ops included.
	everGranted func(history.Mode) bool
	// everAsked reports whether a client sent any command on the key in the whole run.
	everAsked func(client string) bool
	rules     []pairRule // asked of two holds that overlapped, in order
	reason    reason     // of the cause that was found last
}

// hold is one grant and what became of it, from its holder's point of view.
type hold struct {
	acquire  history.Operation
	grants   []*step             // the commands that took the lock, one for each node
	asked    bool                // any command was sent in the acquire
	renewals []history.Operation // extends, granted or not
	uses     []history.Operation
	release  *history.Operation
	lost     int64 // when its holder was told; 0 = never
	until    int64 // the latest valid-until that its holder was given
}

func (h *hold) client() string { return h.acquire.Client }
func (h *hold) start() int64   { return h.acquire.Return }
func (h *hold) shared() bool   { return h.acquire.Mode == history.Shared }

// end is when the holder stopped believing: see belief in the glossary.
func (h *hold) end() int64 {
	end := h.until
	if h.release != nil {
		end = min(end, h.release.Call)
	}
	if h.lost != 0 {
		end = min(end, h.lost)
	}
	return end
}

// granted is the earliest instant at which a server can have granted the hold.
func (h *hold) granted() int64 {
	at := never
	for _, g := range h.grants {
		at = min(at, g.Sent)
	}
	if at == never {
		return h.acquire.Call
	}
	return at
}

// grantedLatest is the latest instant at which a server can have granted the hold.
func (h *hold) grantedLatest() int64 {
	if n := len(h.grants); n > 0 {
		return min(h.grants[n-1].latest(), h.start())
	}
	return h.start()
}

// believed reports whether the holder believed at an instant that it held.
func (h *hold) believed(at int64) bool { return h.start() <= at && at < h.end() }

// inUse reports whether the holder was inside its critical section at an instant.
func (h *hold) inUse(at int64) bool {
	return slices.ContainsFunc(h.uses, func(u history.Operation) bool { return u.Call <= at && at <= u.Return })
}

// newScene arranges the record of one key within [from, to].
func newScene(ev *evidence, key string, from, to int64) *scene {
	s := &scene{header: ev.header, key: key, rules: pairRules(), faults: ev.faults, ops: ev.operations(key, from, to)}
	s.everGranted = func(m history.Mode) bool { return ev.everGranted(key, m) }
	s.everAsked = func(client string) bool {
		return slices.ContainsFunc(ev.commands[client], func(c history.Command) bool { return names(c, key) })
	}
	calls := byClient(s.ops)
	s.steps = lockSteps(key, calls, ev.commandsOn(key, from, to))
	for i := range s.faults {
		s.dropLost(&s.faults[i])
	}
	for _, ops := range calls {
		s.addHolds(ops)
	}
	slices.SortFunc(s.holds, func(a, b *hold) int {
		return cmp.Or(cmp.Compare(a.start(), b.start()), cmp.Compare(a.client(), b.client()))
	})
	for _, h := range s.holds {
		s.addGrants(h)
	}
	return s
}

// byClient sorts operations by client; each client's are in the order of ops.
func byClient(ops []history.Operation) map[string][]history.Operation {
	count, out := map[string]int{}, map[string][]history.Operation{}
	for i := range ops {
		count[ops[i].Client]++
	}
	for client, n := range count {
		out[client] = make([]history.Operation, 0, n)
	}
	for _, op := range ops {
		out[op.Client] = append(out[op.Client], op)
	}
	return out
}

// addHolds replays the calls of one client. Calls of a re-entrant lock nest; of any other, an acquire ends what was open.
func (s *scene) addHolds(ops []history.Operation) {
	var open []*hold
	for i := range ops {
		switch op := ops[i]; op.Op {
		case history.Acquire:
			if op.Outcome != history.OK {
				continue
			}
			if s.header.Kind != history.Reentrant {
				open = open[:0]
			}
			h := &hold{acquire: op, until: until(s.header, &op)}
			for _, outer := range open {
				outer.until = max(outer.until, h.until)
			}
			open = append(open, h)
			s.holds = append(s.holds, h)
		case history.Release:
			open = endInnermost(open, &ops[i])
		default:
			s.follow(open, op)
		}
	}
}

func endInnermost(open []*hold, release *history.Operation) []*hold {
	if len(open) == 0 {
		return open
	}
	open[len(open)-1].release = release
	return open[:len(open)-1]
}

// follow notes what happened within the open holds of a client.
func (s *scene) follow(open []*hold, op history.Operation) {
	for i, h := range open {
		switch {
		case op.Op == history.Extend:
			h.renewals = append(h.renewals, op)
			if op.Outcome == history.OK {
				h.until = max(h.until, until(s.header, &op))
			}
		case op.Op == history.Lost && h.lost == 0:
			h.lost = op.Call
		case op.Op == history.Use && i == len(open)-1:
			h.uses = append(h.uses, op)
		}
	}
}

// lockSteps picks the commands that touch the Redis keys of a lock. These are the keys that some acquire or release
// named; a command on one of them that was sent outside any call is the lock's own doing in the background. Extends
// do not count, because a watchdog's extend overlaps the holder's work, and the guarded store's commands are part of that.
func lockSteps(key string, calls map[string][]history.Operation, commands []history.Command) []step {
	steps := make([]step, 0, len(commands))
	owned := map[string]bool{}
	for _, c := range commands {
		st := step{Command: c}
		if op, ok := enclosing(calls[c.Client], c.Sent); ok {
			st.during, st.called, st.outcome, st.mode = op.Op, op.Call, op.Outcome, op.Mode
		}
		names := redisKeys(&c)
		if (st.during == history.Acquire || st.during == history.Release) && mentions(names, key) {
			for _, name := range names {
				owned[name] = true
			}
		}
		steps = append(steps, st)
	}
	steps = slices.DeleteFunc(steps, func(st step) bool {
		return !slices.ContainsFunc(redisKeys(&st.Command), func(name string) bool { return owned[name] })
	})
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.Sent, b.Sent) })
	for i := range steps {
		steps[i].interpret()
	}
	return steps
}

func mentions(names []string, key string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, key) })
}

// enclosing finds the call of the lock within which a command was sent. A watchdog's extend may overlap a call that the
// client made itself; the later of the two is taken.
func enclosing(ops []history.Operation, at int64) (history.Operation, bool) {
	n, _ := slices.BinarySearchFunc(ops, at, func(op history.Operation, at int64) int {
		if op.Call <= at {
			return -1
		}
		return 1
	})
	const depth = 8 // use, and what a use may span, stand between a call and its command
	for i := n - 1; i >= 0 && i >= n-depth; i-- {
		switch ops[i].Op {
		case history.Acquire, history.Extend, history.Release:
			// Time may be coarse, and in a simulator it is. What begins at the instant at which a call returns sent the command, and a call
			// that took no time sent none.
			next := i+1 < n && ops[i+1].Call == at
			if at < ops[i].Return || at == ops[i].Return && ops[i].Call < at && !next {
				return ops[i], true
			}
		}
	}
	return history.Operation{}, false
}

// addGrants joins a hold with the commands that granted it.
func (s *scene) addGrants(h *hold) {
	var scripts []*step // that may have granted, or taken back
	first, _ := slices.BinarySearchFunc(s.steps, h.acquire.Call, func(st step, at int64) int { return cmp.Compare(st.Sent, at) })
	for i := first; i < len(s.steps) && s.steps[i].Sent <= h.acquire.Return; i++ {
		st := &s.steps[i]
		if st.Client != h.client() || st.during != history.Acquire || st.called != h.acquire.Call { // a watchdog's, or the next entry's
			continue
		}
		h.asked = true
		switch {
		case st.script() && !strings.HasPrefix(st.Reply, "-"):
			scripts = append(scripts, st)
		case st.takes():
			h.grants = append(h.grants, st)
		}
	}
	if len(h.grants) == 0 {
		h.addScripts(scripts)
	} else {
		h.dropTakenBack(scripts)
	}
	if len(h.grants) > 0 && h.acquire.ValidUntil == 0 && s.header.Lease > 0 {
		h.until = max(h.until, h.grants[0].Sent+s.header.Lease-s.header.Drift) // of an acquire that waited, not from its call
	}
}

// dropTakenBack leaves out the grants of rounds in which too few nodes granted. A lock that takes with plain commands sends scripts
// only to take back, which it has done on every node when it begins the next round, or has given up.
func (h *hold) dropTakenBack(scripts []*step) {
	last := h.grants[len(h.grants)-1].Sent
	h.grants = slices.DeleteFunc(h.grants, func(g *step) bool {
		return slices.ContainsFunc(scripts, func(st *step) bool { return st.Node == g.Node && g.Sent < st.Sent && st.Sent < last })
	})
}

// addScripts adds the scripts that granted. On one node the last script of a granted acquire did it, whatever it
// replied; of several nodes, or of several keys that it was called for, some may have refused, and those that said so did not.
func (h *hold) addScripts(scripts []*step) {
	last := map[int]*step{} // by node
	for _, st := range scripts {
		if st.Replied != 0 && st.role() == history.Acquire {
			last[st.Node] = st
		}
	}
	granting := map[string]*step{} // the last, by node and keys
	for _, st := range scripts {
		if l := last[st.Node]; l != nil && st.Replied != 0 && st.role() == history.Acquire && st.scriptName() == l.scriptName() {
			granting[st.place()] = st
		}
	}
	for _, st := range granting {
		if len(granting) > 1 && !positive(st.Reply) && st.Reply != "OK" {
			continue
		}
		st.effect = effectCreate
		h.grants = append(h.grants, st)
	}
	slices.SortFunc(h.grants, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.place(), b.place()))
	})
}

// place is the node and the Redis keys that a step was for.
func (s *step) place() string {
	return strconv.Itoa(s.Node) + " " + strings.Join(redisKeys(&s.Command), " ")
}
