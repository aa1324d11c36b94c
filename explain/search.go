package explain

import (
	"cmp"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/lockbench/lockbench/history"
)

// search is a depth-first search for an order of one node's commands in which every reply equals the recorded one. It tries commands whose times overlap in
// the order of the middles of their times. A command without a recorded reply may have been executed at any later time, or never.
type search struct {
	*orderer
	likely  []int64 // when each command was probably executed
	done    []bool
	replies []int64 // by when each of those that got a reply had it
	lost    int     // the first of cmds that got no reply; those follow the others
	low     int     // the first of cmds that got a reply and is not yet ordered
	left    int     // commands with a reply that are not yet ordered
	reach   int64   // the longest time from sending a command to its middle
	stack   []choice
	failed  map[uint64]keySet // states from which no order was found, with the keys that showed it
	wrong   keySet            // keys of the commands whose replies were not explained since the last one that was
	jumps   bool              // choices that wrote none of those keys are undone without another try
	tries   int               // backtracks since the last commit
	best    []pick            // the longest order found before backtracking
	lossy   int               // commands without a reply are tried while as many with one are left: no order passes without them
	given   int               // replies that count as unexplained

	executed int               // commands, those that were undone too
	was      map[string]*Value // what they replaced last, by key
}

// pick is a command and how to execute it: other inverts whether the leases that may have ended by then have; early and late execute it as early or late
// as possible, if it was pending for long or while a fault changed the data or a lease ended; after puts it after an effect that was observed later than
// it happened. past is which of the pasts of a replica that is promoted before the command is tried.
type pick struct {
	cmd                       int
	other, early, late, after bool
	past                      int
}

// keySet is a set of keys.
type keySet map[string]bool

func (k keySet) add(keys ...string) {
	for _, key := range keys {
		k[key] = true
	}
}

// choice is one step of the search, with its untried alternatives.
type choice struct {
	pick
	rest    []pick
	wrong   keySet // what had shown the alternatives before it to be wrong; nil: there were none
	events  int    // before it
	nextEff int
	last    int64
	clock   clock
	low     int
}

// ordered executes the commands in an order that explains their replies.
func (o *orderer) ordered() {
	likely := make(map[*history.Command]int64, len(o.cmds))
	var answered, lost []*history.Command
	for _, c := range o.cmds {
		likely[c] = o.likely(c)
		switch {
		case o.replied(c) != 0:
			answered = append(answered, c)
		case o.asks.mayChange(c):
			lost = append(lost, c)
		}
	}
	for _, list := range [][]*history.Command{answered, lost} {
		slices.SortStableFunc(list, func(a, b *history.Command) int {
			return cmp.Or(cmp.Compare(likely[a], likely[b]), cmp.Compare(a.Sent, b.Sent))
		})
	}
	o.cmds = append(answered, lost...)
	s := &search{orderer: o, done: make([]bool, len(o.cmds)), lost: len(answered), left: len(answered), failed: map[uint64]keySet{}, wrong: keySet{}, was: map[string]*Value{}, jumps: true, lossy: math.MaxInt}
	for _, c := range o.cmds {
		s.likely, s.replies = append(s.likely, likely[c]), append(s.replies, o.replied(c))
		s.reach = max(s.reach, likely[c]-c.Sent)
	}
	s.run()
	o.suffer(math.MaxInt64)
}

// likely returns the middle of a command's time.
func (o *orderer) likely(c *history.Command) int64 {
	from, seen := o.from(c), o.seen(c)
	if seen != 0 {
		seen = max(seen, from)
	}
	return middle(from, seen)
}

// middle returns the middle of the time from sending a command to its reply; 0 is no reply.
func middle(sent, replied int64) int64 {
	if replied == 0 {
		return sent
	}
	return sent + (replied-sent)/2
}

func (s *search) run() {
	for s.left > 0 && !s.broken {
		if s.forward(s.candidates()) || s.backtrack() || !s.futile() && s.admitLost() {
			continue
		}
		s.acceptUnexplained()
		s.broken = s.given > unsolved || s.futile()
	}
}

// futile reports whether the search has executed as many commands as it may.
func (s *search) futile() bool { return s.executed >= max(leastEffort, effort*len(s.cmds)) }

// candidates returns the commands that may come next: no other command must precede them.
func (s *search) candidates() (picks []pick) {
	if s.tries > 0 {
		if wrong, known := s.failed[s.hash()]; known {
			maps.Copy(s.wrong, wrong)
			return nil
		}
	}
	limit := s.limit()
	var earlier []*history.Command
	follows := func(c *history.Command) bool {
		return c.Conn != 0 && slices.ContainsFunc(earlier, func(o *history.Command) bool { return o.Client == c.Client && o.Conn == c.Conn && o.Sent < c.Sent })
	}
	for i := s.low; i < s.lost && s.likely[i]-s.reach <= limit; i++ {
		c := s.cmds[i]
		if s.done[i] {
			continue
		}
		if c.Sent <= limit && !follows(c) {
			picks = append(picks, pick{cmd: i})
		}
		earlier = append(earlier, c)
	}
	for _, p := range picks[:len(picks):len(picks)] {
		picks = append(picks, pick{cmd: p.cmd, other: true})
		c := s.cmds[p.cmd]
		if s.meetsEffect(p.cmd) || s.replies[p.cmd]-c.Sent > long || s.meetsEnd(p.cmd, min(limit, s.replies[p.cmd])) {
			picks = append(picks, pick{cmd: p.cmd, late: true}, pick{cmd: p.cmd, early: true},
				pick{cmd: p.cmd, early: true, other: true}, pick{cmd: p.cmd, late: true, other: true})
		}
		if slices.ContainsFunc(s.effects[s.nextEff:], func(e dated) bool { return e.from <= s.replies[p.cmd] && e.At > s.likely[p.cmd] }) {
			picks = append(picks, pick{cmd: p.cmd, after: true})
		}
	}
	for i := len(s.cmds) - 1; i >= s.lost && s.left >= s.lossy; i-- { // the latest first: requests seldom arrive long after they were sent
		if c := s.cmds[i]; !s.done[i] && c.Sent <= limit && !follows(c) {
			picks = append(picks, pick{cmd: i})
			if s.meetsEnd(i, limit) {
				picks = append(picks, pick{cmd: i, late: true})
			}
		}
	}
	return s.withPasts(picks)
}

// meetsEffect reports whether a fault changed the node's data between the middle of a command's time and its reply.
func (s *search) meetsEffect(cmd int) bool {
	return slices.ContainsFunc(s.effects[s.nextEff:], func(e dated) bool { return e.At > s.likely[cmd] && e.At <= s.replies[cmd] })
}

// meetsEnd reports whether a lease may end between the sending of a command and the instant by.
func (s *search) meetsEnd(cmd int, by int64) bool {
	from, to := s.m.ownTime(s.cmds[cmd].Sent), s.m.ownTime(by)
	for _, v := range s.m.values {
		if earliest, latest := v.ends(); v.Expires != 0 && latest > from && earliest <= to {
			return true
		}
	}
	return false
}

// limit returns the earliest reply time of the commands left: those sent after it come later.
func (s *search) limit() int64 {
	limit := int64(math.MaxInt64)
	for i := s.low; i < s.lost && s.likely[i] <= limit; i++ { // the replies to the others came later
		if !s.done[i] {
			limit = min(limit, s.replies[i])
		}
	}
	return limit
}

// forward takes the first of the given picks whose reply equals the recorded one.
func (s *search) forward(picks []pick) bool {
	for i, p := range picks {
		if s.futile() {
			return false
		}
		at := choice{pick: p, rest: picks[i+1:], events: len(s.events), nextEff: s.nextEff, last: s.last, clock: s.m.clock, low: s.low}
		if s.take(p) {
			if len(at.rest) > 0 && len(s.events)-at.events == 1 && s.idle(&s.events[at.events]) {
				at.rest = slices.DeleteFunc(slices.Clone(at.rest), func(p pick) bool { return !p.after }) // with the command later, an order would exist with it here, too
			}
			if len(s.wrong) > 0 {
				at.wrong, s.wrong = s.wrong, keySet{}
			}
			s.stack = append(s.stack, at)
			s.commit()
			return true
		}
		if len(s.events) > at.events {
			s.wrong.add(s.events[len(s.events)-1].touched...)
		}
		s.revert(&at)
	}
	return false
}

// idle reports whether the reply to a command proves that it wrote nothing.
func (s *search) idle(e *event) bool {
	r := s.asks.of(e.cmd)
	if len(e.changes) > 0 || r == nil {
		return len(e.changes) == 0
	}
	return s.m.idle(e, r, s.was) // what is there if the command comes later
}

// take executes a command and reports whether its reply is explained.
func (s *search) take(p pick) bool {
	c := s.cmds[p.cmd]
	at := s.when(p)
	s.tried = p.past
	s.suffer(at)
	if p.after && s.nextEff < len(s.effects) {
		at = max(at, min(s.effects[s.nextEff].from, s.replies[p.cmd]))
		first := s.nextEff
		s.sufferAt(at)
		for s.nextEff < len(s.effects) && s.effects[s.nextEff].with(s.effects[first]) {
			s.sufferAt(at)
		}
	}
	if !s.leases(c, at, p.other) {
		return false
	}
	ok := s.execute(c, at)
	s.executed++
	did := s.events[len(s.events)-1].changes
	for _, ch := range did {
		if ch.before != nil {
			s.was[ch.key] = ch.before
		}
	}
	s.done[p.cmd] = true
	if p.cmd < s.lost {
		s.left--
	} else if len(did) == 0 {
		return false // without an effect, it may as well not have arrived
	}
	for s.low < s.lost && s.done[s.low] {
		s.low++
	}
	return ok
}

// when returns the instant at which a pick executes its command.
func (s *search) when(p pick) int64 {
	c := s.cmds[p.cmd]
	at := s.likely[p.cmd]
	switch {
	case p.late && p.cmd >= s.lost:
		at = math.MaxInt64
	case p.late:
		at = s.replies[p.cmd]
	case p.early:
		at = c.Sent
	}
	return max(s.last, min(max(at, c.Sent), s.limit()))
}

// leases ends leases up to an instant. A command's keys that may or may not have expired by then follow the clock or, with other, the opposite; with other
// it returns false if there is no such key. With other a key may also come back with a clock that was set back.
func (s *search) leases(c *history.Command, at int64, other bool) (found bool) {
	now := s.m.ownTime(at)
	put := func(key string, was, is *Value) {
		s.m.set(key, is)
		s.push(event{at: at, changes: []change{{key, was, is}}, clock: s.m.clock})
		found = true
	}
	if other {
		for _, key := range s.named(c, at) {
			v := s.m.values[key]
			if v == nil {
				if back := s.unremoved(key, at); back != nil {
					put(key, nil, back)
				}
				continue
			}
			switch earliest, latest := v.ends(); {
			case v.Expires == 0:
			case v.Expires > now && earliest <= now:
				put(key, v, nil)
			case v.Expires <= now && latest > now:
				longer := *v
				longer.Expires = now + 1_000_000
				longer.early, longer.late = 0, latest-longer.Expires
				put(key, v, &longer)
			}
		}
		s.m.loaded = s.m.loaded && !found
	}
	s.expire(s.m.tick(at))
	return found || !other
}

// lingers is how long a key that nobody names may stay after its lease: Redis looks for such keys ten times a second.
const lingers = 200_000_000

// unremoved returns the value of a key whose lease had ended and runs again at an instant, because the clock was set back before anything removed the key.
func (s *search) unremoved(key string, at int64) *Value {
	back := int64(0) // when the clock was set back
	for i := range slices.Backward(s.events) {
		e := &s.events[i]
		switch {
		case e.setsClock() && e.effect.By < 0:
			back = e.at
		case e.ended() && e.changes[0].key == key && e.changes[0].after == nil:
			if v := e.changes[0].before; e.at <= back && back-e.at <= lingers && v.Expires > s.m.ownTime(at) {
				return v
			}
			return nil
		case changesAny(e, []string{key}) || slices.Contains(e.touched, key) || e.resets():
			return nil
		}
	}
	return nil
}

// named returns the keys that a command names if all keys with a lease still exist.
func (s *search) named(c *history.Command, at int64) []string {
	r := s.asks.of(c)
	if r == nil {
		return nil
	}
	values := maps.Clone(s.m.values)
	for key := range s.m.values {
		s.m.persist(key)
	}
	_, _, touched := s.m.do(r, at)
	s.m.values, s.m.loaded = values, false
	return touched
}

// backtrack undoes steps up to the latest choice with an untried alternative that may matter, and takes that. A choice matters if it wrote a key by which
// a reply was not explained, or one that such a choice used. If none helps, all are tried, the latest first. With commands that got no reply all are tried
// at once: when such a command was executed decides when its lease ends, whatever its keys.
func (s *search) backtrack() bool {
	if len(s.stack) > len(s.best) {
		s.best = s.best[:0]
		for _, c := range s.stack {
			s.best = append(s.best, c.pick)
		}
	}
	if s.retry() {
		return true
	}
	if !s.jumps || s.futile() {
		return false
	}
	s.restart()
	s.jumps = false
	return s.forward(s.candidates()) || s.retry()
}

func (s *search) retry() bool {
	for len(s.stack) > 0 && s.tries < backtracks && !s.futile() {
		top := s.stack[len(s.stack)-1]
		matters := !s.jumps || s.matters(&top)
		if matters {
			s.tries++
			s.failed[s.hash()] = maps.Clone(s.wrong)
		}
		s.stack = s.stack[:len(s.stack)-1]
		s.revert(&top)
		if matters && s.forward(top.rest) {
			return true
		}
	}
	return false
}

// matters reports whether another choice may explain what was not explained, and if so adds the keys that this one used to those that matter.
func (s *search) matters(c *choice) (matters bool) {
	matters = c.wrong != nil
	maps.Copy(s.wrong, c.wrong)
	for i := c.events; i < len(s.events); i++ {
		e := &s.events[i]
		if e.effect != nil || e.ended() || slices.ContainsFunc(e.changes, func(ch change) bool { return s.wrong[ch.key] }) {
			matters = true
			s.wrong.add(e.touched...)
		}
	}
	return matters
}

// revert restores the state before a choice.
func (s *search) revert(c *choice) {
	for i := len(s.events) - 1; i >= c.events; i-- {
		s.m.undo(s.events[i].changes)
		if s.events[i].effect != nil {
			s.m.loaded = false
		}
	}
	s.events = s.events[:c.events]
	s.marks = s.marks[:(c.events+markEvery-1)/markEvery]
	s.nextEff, s.last, s.m.clock, s.low, s.m.loaded = c.nextEff, c.last, c.clock, c.low, false
	if s.done[c.cmd] {
		s.done[c.cmd] = false
		if c.cmd < s.lost {
			s.left++
		}
	}
}

// commit drops the alternatives of old choices.
func (s *search) commit() {
	if len(s.stack) < 2*regrets {
		return
	}
	s.stack = slices.Delete(s.stack, 0, regrets)
	s.best, s.tries, s.jumps = s.best[:0], 0, s.lossy == math.MaxInt
	clear(s.failed)
}

// admitLost searches again with commands that got no reply, up to the point that no order passed without them. They come second because a request that
// arrives at any later time explains almost everything.
func (s *search) admitLost() bool {
	s.restart()
	left := s.left
	for _, p := range s.best {
		if p.cmd < s.lost {
			left--
		}
	}
	if left >= s.lossy {
		return false
	}
	s.lossy, s.best = left, s.best[:0]
	return true
}

// acceptUnexplained repeats the longest order found and accepts the reply after it as unexplained.
func (s *search) acceptUnexplained() {
	s.restart()
	for _, p := range s.best {
		s.take(p)
	}
	s.best = s.best[:0]
	if s.low < s.lost {
		s.take(pick{cmd: s.low})
		s.events[len(s.events)-1].open = true
	}
	s.given++
}

// restart undoes all choices that can be undone.
func (s *search) restart() {
	for i := len(s.stack) - 1; i >= 0; i-- {
		s.revert(&s.stack[i])
	}
	s.stack, s.tries, s.jumps = s.stack[:0], 0, s.lossy == math.MaxInt
	clear(s.failed)
	clear(s.wrong)
}

// hash identifies the set of ordered commands and the data of the node.
func (s *search) hash() uint64 {
	h := fnv.New64a()
	put := func(text string) { _, _ = h.Write(append([]byte(text), 0)) }
	put(strconv.Itoa(s.low) + " " + strconv.Itoa(s.nextEff))
	for i := s.low; i < len(s.cmds); i++ {
		if s.done[i] {
			put(strconv.Itoa(i))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.m.values)) {
		v := s.m.values[key]
		parts := v.parts()
		put(key + v.Kind + strconv.FormatInt(v.Expires/1_000_000, 10))
		for _, part := range append(slices.Sorted(maps.Keys(parts)), v.Items...) { // the items also in their order
			put(part + "=" + parts[part])
		}
	}
	return h.Sum64()
}
