package sim

import (
	"slices"
	"testing/synctest"
	"time"
)

// tick is the duration of one event, unless Bounds.Instant sets none. It separates events in the
// record; no lock depends on a microsecond.
const tick = time.Microsecond

// timer is a call scheduled for an instant. Of two at the same instant the older is first.
type timer struct {
	at time.Time
	do func()
}

// clock returns the driver's time: the bubble's and what has passed since.
func (w *world) clock() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

func (w *world) now() time.Duration { return w.clock().Sub(w.start) }

// timeline returns nanoseconds since the world began. If events take no time, each is a nanosecond
// later, so that the record has an order.
func (w *world) timeline() int64 { return max(int64(w.now()), w.stamp.Load()) }

// spendTick advances time by one event. Timers due by then run first.
func (w *world) spendTick() {
	if w.bounds.Instant {
		if now := w.now(); now != w.instant {
			w.instant, w.instants = now, append(w.instants, w.timeline())
		}
		w.stamp.Store(w.timeline() + 1)
		w.timer.Reset(0)
		<-w.timer.C
		synctest.Wait()
		return
	}
	w.pass(tick, nil)
}

// pass lets time pass until d is over, or until the channel yields something, and reports whether
// it did. Goroutines with timers due by then run first; readers whose deadline comes are woken.
func (w *world) pass(d time.Duration, until <-chan struct{}) (yielded bool) {
	end := w.clock().Add(d)
	w.ahead.Store(0)
	for {
		if w.sleepUntil(end, until) {
			return true
		}
		synctest.Wait()
		w.endReads()
		if !time.Now().Before(end) {
			return false
		}
	}
}

// sleepUntil waits for an instant, at most until the expiry, or for the channel, and reports
// whether that yielded something.
func (w *world) sleepUntil(t time.Time, until <-chan struct{}) (yielded bool) {
	w.mu.Lock()
	if !w.expiry.IsZero() && w.expiry.Before(t) {
		t = w.expiry
	}
	d := time.Until(t)
	if d <= tick && until == nil {
		w.mu.Unlock()
		time.Sleep(d) // takes less time than a timer
		return false
	}
	w.wakes = t
	w.mu.Unlock()
	w.timer.Reset(d)
	select {
	case <-until:
		yielded = true
	case <-w.sooner:
	case <-w.timer.C:
	}
	w.timer.Stop()
	w.mu.Lock()
	w.wakes = time.Time{}
	clearSignal(w.sooner)
	w.mu.Unlock()
	return yielded
}

// endReads wakes the readers whose deadline has come.
func (w *world) endReads() {
	now := time.Now()
	w.mu.Lock()
	if w.expiry.IsZero() || now.Before(w.expiry) {
		w.mu.Unlock()
		return
	}
	w.expiry = time.Time{}
	for _, cn := range w.conns {
		if !cn.waiting || cn.expires.IsZero() {
			continue
		}
		if cn.expires.After(now) {
			w.expect(cn.expires)
			continue
		}
		cn.wake()
	}
	w.mu.Unlock()
	synctest.Wait()
}

// expect records that a reader gives up at an instant.
func (w *world) expect(at time.Time) {
	if !w.expiry.IsZero() && !at.Before(w.expiry) {
		return
	}
	w.expiry = at
	if at.Before(w.wakes) {
		signal(w.sooner)
	}
}

// beginSleep records that a goroutine of the client sleeps for about d, and returns until when.
func (c *client) beginSleep(d time.Duration) (end time.Time) {
	w := c.world
	w.mu.Lock()
	defer w.mu.Unlock()
	for end = time.Now().Add(c.ownInstant(d)); slices.Contains(w.sleeps, end); {
		end = end.Add(sleepers)
	}
	c.asleep++
	w.sleeps = append(w.sleeps, end)
	return end
}

// endSleep is called, under w.mu, when that sleep is over.
func (c *client) endSleep(end time.Time) {
	c.asleep--
	i := slices.Index(c.world.sleeps, end)
	c.world.sleeps = slices.Delete(c.world.sleeps, i, i+1)
}

// after schedules a call by the driver after d.
func (w *world) after(d time.Duration, do func()) {
	t := timer{w.clock().Add(d), do}
	i := len(w.timers)
	for i > 0 && w.timers[i-1].at.After(t.at) {
		i--
	}
	w.timers = slices.Insert(w.timers, i, t)
}

// waitForActivity lets time pass until something happens; it returns false if the horizon is
// reached first.
func (w *world) waitForActivity() bool {
	left := w.program.Horizon - w.now()
	if left <= 0 {
		return false
	}
	w.waitAtMost(left)
	return true
}

// waitAtMost lets time pass until something happens, a timer is due, or d is over.
func (w *world) waitAtMost(d time.Duration) {
	w.mu.Lock()
	clearSignal(w.activity)
	if len(w.timers) > 0 {
		d = min(d, w.timers[0].at.Sub(w.clock()))
	}
	w.mu.Unlock()
	w.pass(max(d, 0), w.activity)
}

func (w *world) wakeDriver() { signal(w.activity) }

// signal makes sure that a channel of capacity 1 holds a signal.
func signal(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// clearSignal drops a signal that came before.
func clearSignal(from <-chan struct{}) {
	select {
	case <-from:
	default:
	}
}
