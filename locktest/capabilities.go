package locktest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/impls"
)

func fencesGrow(c *trial) {
	a, b := c.client("a"), c.client("b")
	last := uint64(0)
	next := func(cl *client, when string) {
		g := cl.mustHold(when, exclusive)
		if g.Fence <= last {
			c.errorf("%s: fence %d after fence %d", when, g.Fence, last)
		}
		last = g.Fence
	}
	for range 3 {
		next(a, "the lock is free")
		a.mustRelease("a holds")
		next(b, "a has released")
		c.endLease(b)
		next(a, "b's lease has ended")
		a.mustRelease("a holds")
	}
	c.manyInASecond(a, next)
	if c.outliveCount() {
		next(a, "every key that had an end is gone")
		a.mustRelease("a holds")
	}
	for _, bits := range []uint{31, 32} { // a thousand grants a second reach them in 25 and in 50 days
		many := uint64(1)<<bits - 2
		if last >= many || !c.recount(last, many) {
			c.note("no key with the value of the last fence, %d, was found: how fences go on at 2^%d is not tried", last, bits)
			return
		}
		last = many
		for range 3 {
			next(a, fmt.Sprintf("2^%d grants were counted", bits))
			a.mustRelease("a holds")
		}
	}
}

// manyInASecond checks fences that a lock may make of the time and a counter.
func (c *trial) manyInASecond(a *client, next func(*client, string)) {
	many := 1100
	if c.slack > 0 {
		many = 20
	}
	for i := range many {
		next(a, fmt.Sprintf("grant no. %d in a second", i+1))
		a.mustRelease("a holds")
	}
	c.sleep(time.Second)
	next(a, fmt.Sprintf("a second has passed after %d grants", many))
	a.mustRelease("a holds")
}

// recount gives another value to the keys that have the given one, and reports whether there are any.
func (c *trial) recount(from, to uint64) (found bool) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if v, ok := c.number(n, k); ok && uint64(v) == from {
				found = c.put(n, k, to) || found
			}
		}
	}
	return found
}

// outliveCount waits until every key with an expiry is gone: the counter of fences must not be one of them.
func (c *trial) outliveCount() bool {
	for range 2 {
		ends := c.ends()
		if len(ends) == 0 {
			return true
		}
		left := slices.Max(ends)
		if c.slack > 0 && left > 3*c.lease {
			c.note("a key ends in %v: whether fences go on then is not tried in real time", left)
			return false
		}
		c.sleep(left + grain + c.slack)
	}
	return true
}

func countsEntries(c *trial) {
	a, b := c.client("a"), c.client("b")
	const depth = 3
	for i := range depth {
		a.mustHold(fmt.Sprint("entry no. ", i+1), exclusive)
		b.mustBeRefused("a holds", exclusive)
	}
	for i := range depth {
		b.mustBeRefused(fmt.Sprintf("a has released %d of %d times", i, depth), exclusive)
		a.mustRelease("a holds")
	}
	a.mustNotRelease("it has released as often as it entered", impls.ErrNotHeld)
	b.mustHold("a has released as often as it entered", exclusive)
	b.mustRelease("b holds")
}

func innerRelease(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the lock is free", exclusive)
	a.mustHold("a holds", exclusive)
	a.mustRelease("a holds twice")
	begin := time.Now()
	a.dies()
	c.sleep(c.lease*6/10 - time.Since(begin) - c.slack)
	b.mustBeRefused("six tenths of a lease have passed since the inner release", exclusive)
}

func lostEntry(c *trial) {
	a, b := c.client("a"), c.client("b")
	a.mustHold("the scripts are known from here on", exclusive)
	a.mustRelease("a holds")
	a.mustHold("the lock is free", exclusive)
	begin := time.Now()
	a.wires.loseReplies(1)
	if _, err := a.try(exclusive); errors.Is(err, impls.ErrBusy) {
		c.errorf("a holds and enters again, the reply is lost, and its acquire returns %v", err)
	}
	a.wires.loseReplies(0)
	b.mustBeRefused("a holds, and the reply to its second entry was lost", exclusive)
	a.mustRelease("a holds")
	c.mustGetIn(b, begin, "the reply to a's second entry was lost, and a has released once")
}

func readersShare(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	a.mustHold("the lock is free", shared)
	b.mustHold("a reads", shared)
	w.mustBeRefused("a and b read", exclusive)
	a.mustRelease("a reads")
	b.mustRelease("b reads")
	w.mustHold("nobody reads", exclusive)
	a.mustBeRefused("w writes", shared)
	b.mustBeRefused("w writes", exclusive)
	w.mustRelease("w writes")
	a.mustHold("nobody writes", shared)
	w.mustBeRefused("one client reads", exclusive)
	a.mustRelease("a reads")
}

func readerLeavesAlone(c *trial) {
	for _, later := range []bool{false, true} {
		a, b, w := c.client("a"), c.client("ab"), c.client("w") // b's name, and so its token, may begin with a's
		a.mustHold("the lock is free", shared)
		c.sleep(2 * time.Millisecond)
		b.mustHold("a reads", shared)
		leaves, stays := a, b
		if later {
			leaves, stays = b, a
		}
		leaves.mustRelease("two read")
		w.mustBeRefused(fmt.Sprintf("%s reads, and %s has left", stays.name, leaves.name), exclusive)
		_ = stays.release()
		c.clear()
	}
}

func readerLasts(c *trial) {
	a, b, w := c.client("a"), c.client("b"), c.client("w")
	a.mustHold("the lock is free", shared)
	c.sleep(c.lease / 2)
	begin := time.Now()
	b.mustHold("a reads", shared)
	c.sleep(c.lease*9/10 - time.Since(begin) - c.slack)
	w.mustBeRefused("b has read for nine tenths of its lease, and a's lease has ended", exclusive)
	c.startOver()
	for _, leaves := range []bool{false, true} {
		c.readerOfLonger(leaves)
		c.startOver()
	}
	if c.cfg.Traits.Extends {
		c.readerExtends()
	}
}

// readerOfLonger lets a reader with a shorter lease come later, and leave or not.
func (c *trial) readerOfLonger(leaves bool) {
	begin, twice := time.Now(), 2*c.ttl
	long, err := c.open("long", func(e *impls.Env) { e.Lease = twice })
	if err != nil {
		c.note("a lease of %v is refused: %v", twice, err)
		return
	}
	short, w := c.client("short"), c.client("w")
	long.mustHold("the lock is free", shared)
	short.mustHold("another reads", shared)
	if leaves {
		short.mustRelease("it reads")
	}
	c.sleep(c.cfg.kept(twice)*9/10 - time.Since(begin) - c.slack)
	w.mustBeRefused(fmt.Sprintf("nine tenths have passed of twice the lease for which a client reads; another has come since, and has left: %v", leaves), exclusive)
}

func (c *trial) readerExtends() {
	a, w := c.client("extends"), c.client("w")
	a.mustHold("the lock is free", shared)
	c.sleep(c.lease / 2)
	begin := time.Now()
	if _, err := a.extend(); err != nil {
		c.note("a reader extends: %v", err)
		return
	}
	c.sleep(c.lease*9/10 - time.Since(begin) - c.slack)
	w.mustBeRefused("a reader has extended, and nine tenths of its lease have passed since", exclusive)
}

func deadReader(c *trial) {
	dead, a, w := c.client("dead"), c.client("a"), c.client("w")
	begin := time.Now()
	dead.mustHold("the lock is free", shared)
	dead.dies()
	for range 4 { // a keeps reading beyond the dead reader's lease
		a.mustHold("another reads", shared)
		c.sleep(c.lease / 4)
		_, _ = a.extend()
		_ = a.release()
	}
	c.sleep(c.lease + c.lease/20 + c.slack - time.Since(begin))
	w.mustHold("the dead reader's lease has ended and nobody reads", exclusive)
}

func deadWriterWaits(c *trial) {
	r, dead, next := c.client("r"), c.client("dead"), c.client("next")
	r.mustHold("the lock is free", shared)
	dead.diesWaiting(exclusive, c.lease/10)
	c.sleep(c.lease + c.lease/20 + c.slack)
	next.mustHold("a lease has passed since a waiting writer died", shared)
}

// manyReaders: a writer that asks some of its readers, or as many as one call returns, misses one.
func manyReaders(c *trial) {
	const many = 40
	n := many
	if c.slack > 0 {
		n = 15
	}
	w := c.client("w")
	var dead []*client
	begin := time.Now()
	for i := range n {
		r := c.client(fmt.Sprint("dead", i))
		r.mustHold("nobody writes", shared)
		dead = append(dead, r)
	}
	for _, r := range dead {
		r.dies()
	}
	stays := c.client("stays")
	c.sleep(c.lease*6/10 - time.Since(begin))
	came := time.Now()
	stays.mustHold("others read", shared)
	c.sleep(c.lease + c.lease/20 + c.slack - time.Since(begin))
	if time.Since(came) < c.lease*9/10-c.slack {
		w.mustBeRefused(fmt.Sprintf("%d readers have died, their leases have ended, and one reads", n), exclusive)
	}
	c.startOver()
	c.manyLeave(n)
}

// manyLeave lets readers leave one after the other, the first or the last first.
func (c *trial) manyLeave(n int) {
	for _, fromLast := range []bool{false, true} {
		all, w := make([]*client, n), c.client("w")
		begin := time.Now()
		for i := range all {
			all[i] = c.client(fmt.Sprint("r", i))
			all[i].mustHold("nobody writes", shared)
		}
		if fromLast {
			slices.Reverse(all)
		}
		for _, r := range all[:n-1] {
			_ = r.release()
		}
		if time.Since(begin) < c.lease*9/10-c.slack {
			w.mustBeRefused(fmt.Sprintf("of %d readers all but %s have left", n, all[n-1].name), exclusive)
			_ = all[n-1].release()
			w.mustHold(fmt.Sprintf("%d readers have left", n), exclusive)
		}
		c.startOver()
	}
}

// refusedReader: a reader that was refused leaves no sign that keeps a writer, or another reader, out.
func refusedReader(c *trial) {
	for _, waited := range []bool{false, true} {
		w, r, next := c.client("w"), c.client("r"), c.client("next")
		w.mustHold("the lock is free", exclusive)
		how := "was refused"
		if waited {
			how = "gave up waiting"
			r.waitsInVain(shared, c.lease/10)
		} else {
			r.mustBeRefused("w writes", shared)
		}
		w.mustRelease("w writes; r asked to read and " + how)
		c.takeBack()
		next.mustHold("nobody holds: w has left, and r "+how, exclusive)
		next.mustRelease("it writes")
		c.clear()
	}
}

// refusedWriter: neither a writer that asked once nor one that gave up waiting comes back, whatever sign it has left.
func refusedWriter(c *trial) {
	for _, waited := range []bool{false, true} {
		r, w, next := c.client("r"), c.client("w"), c.client("next")
		r.mustHold("the lock is free", shared)
		how := "w was refused"
		if waited {
			how = "w gave up waiting"
			w.waitsInVain(exclusive, c.lease/10)
		} else {
			w.mustBeRefused("r reads", exclusive)
		}
		c.sleep(c.lease + c.lease/20 + c.slack)
		next.mustHold("a lease has passed since "+how, shared)
		c.clear()
	}
}

func readersWake(c *trial) {
	limit := c.twoPolls(shared)
	w := c.client("w")
	w.mustHold("the lock is free", exclusive)
	all := make([]*waiting, 3)
	for i := range all {
		all[i] = c.client(fmt.Sprint("r", i)).waits(shared)
	}
	c.sleep(c.lease / 10)
	begin := time.Now()
	w.mustRelease("w writes")
	c.together(all, begin, limit, "readers")
}

// together checks that all waiters are granted the lock in time, without a release.
func (c *trial) together(all []*waiting, begin time.Time, limit time.Duration, who string) {
	for i, r := range all {
		r.mustBeGranted(begin, limit, fmt.Sprintf("%d %s waited, and no. %d of them did not get in with the others", len(all), who, i+1))
	}
}

func writerFirst(c *trial) {
	r, w, late := c.client("r"), c.client("w"), c.client("late")
	r.mustHold("the lock is free", shared)
	writes := w.waits(exclusive)
	c.sleep(c.lease / 10)
	late.mustBeRefused("one client reads and a writer waits", shared)
	comes := late.waits(shared)
	r.mustRelease("it reads")
	if writes.result() != nil {
		c.fatalf("the reader has left, and the writer is not granted the lock: %v", writes.err)
	}
	if comes.over() {
		c.errorf("the writer was waiting, and a reader that came later has got in before it or beside it")
	}
	w.mustRelease("it writes")
	if comes.result() != nil {
		c.errorf("the writer has left, and the reader is not granted the lock: %v", comes.err)
	}
}

func permitsWake(c *trial) {
	two := func(e *impls.Env) { e.Permits = 2 }
	a, b := c.client("a", two), c.client("b", two)
	a.mustHold("both permits are free", exclusive)
	b.mustHold("one permit is free", exclusive)
	all := []*waiting{c.client("c", two).waits(exclusive), c.client("d", two).waits(exclusive)}
	c.sleep(c.lease / 10)
	begin := time.Now()
	a.mustRelease("it holds")
	b.mustRelease("it holds")
	c.together(all, begin, c.lease/20, "clients")
}

func permits(c *trial) {
	const n = 3
	three := func(e *impls.Env) { e.Permits = n }
	all := make([]*client, n+2)
	for i := range all {
		all[i] = c.client(fmt.Sprint("c", i), three)
	}
	if won := c.race(all); len(won) != n {
		c.errorf("%d of %d clients that asked at once hold a permit, want %d", len(won), len(all), n)
	}
	c.endLease(all[0])
	for _, cl := range all[:n] {
		cl.mustHold("all permits have come back", exclusive)
	}
	all[n].mustBeRefused("no permit is left", exclusive)
	for range 2 {
		_ = all[0].release()
	}
	all[n].mustHold("one permit has come back", exclusive)
	all[n+1].mustBeRefused("one permit has come back, though it was released twice", exclusive)
}
