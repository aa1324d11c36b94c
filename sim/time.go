package sim

import (
	"slices"
	"sync"
	"sync/atomic"
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

// virtual is the time of a world: the bubble's and the driver's.
type virtual struct {
	mu     sync.Mutex // the world's; the driver holds it while it works and lets it go while time passes
	start  time.Time
	timer  *time.Timer  // the driver's own; set whenever it waits
	timers []timer      // scheduled calls by the driver, soonest first
	ahead  atomic.Int64 // nanoseconds that have passed for the driver and not yet in the bubble; see drive

	still    bool          // events take no time
	stamp    atomic.Int64  // the least time that the timeline may show then,
	instant  time.Duration // the present instant, and
	instants []int64       // where each instant begins on the timeline, but for the first

	activity chan struct{}       // cap 1: signals the driver
	sleeps   []time.Time         // when the clients' sleeps end
	expiry   time.Time           // no waiting reader gives up earlier; zero if there is none
	expire   func(now time.Time) // gives up the readers that are due, and expects the next
	wakes    time.Time           // when the driver, which waits, goes on by itself; zero if it does not wait
	sooner   chan struct{}       // cap 1: signals it that a reader gives up earlier
}

// begin starts the time. It runs inside the bubble, to which its channels must belong.
func (v *virtual) begin() {
	v.start = time.Now()
	v.activity, v.sooner = make(chan struct{}, 1), make(chan struct{}, 1)
	v.timer = time.NewTimer(0)
	v.timer.Stop()
}

// clock returns the driver's time: the bubble's and what has passed since.
func (v *virtual) clock() time.Time { return time.Now().Add(time.Duration(v.ahead.Load())) }

func (v *virtual) now() time.Duration { return v.clock().Sub(v.start) }

// timeline returns nanoseconds since the world began. If events take no time, each is a nanosecond
// later, so that the record has an order.
func (v *virtual) timeline() int64 { return max(int64(v.now()), v.stamp.Load()) }

// spendTick advances time by one event. Timers due by then run first.
func (v *virtual) spendTick() {
	if v.still {
		if now := v.now(); now != v.instant {
			v.instant, v.instants = now, append(v.instants, v.timeline())
		}
		v.stamp.Store(v.timeline() + 1)
		v.timer.Reset(0)
		<-v.timer.C
		synctest.Wait()
		return
	}
	v.pass(tick, nil)
}

// pass lets time pass until d is over, or until the channel yields something, and reports whether
// it did. Goroutines with timers due by then run first; readers whose deadline comes are woken.
func (v *virtual) pass(d time.Duration, until <-chan struct{}) (yielded bool) {
	end := v.clock().Add(d)
	v.ahead.Store(0)
	for {
		if v.sleepUntil(end, until) {
			return true
		}
		synctest.Wait()
		now := time.Now()
		v.mu.Lock()
		due := !v.expiry.IsZero() && !now.Before(v.expiry)
		if due {
			v.expiry = time.Time{}
			v.expire(now)
		}
		v.mu.Unlock()
		if due {
			synctest.Wait()
		}
		if !time.Now().Before(end) {
			return false
		}
	}
}

// sleepUntil waits for an instant, at most until the expiry, or for the channel, and reports
// whether that yielded something.
func (v *virtual) sleepUntil(t time.Time, until <-chan struct{}) (yielded bool) {
	v.mu.Lock()
	if !v.expiry.IsZero() && v.expiry.Before(t) {
		t = v.expiry
	}
	d := time.Until(t)
	if d <= tick && until == nil {
		v.mu.Unlock()
		time.Sleep(d) // takes less time than a timer
		return false
	}
	v.wakes = t
	v.mu.Unlock()
	v.timer.Reset(d)
	select {
	case <-until:
		yielded = true
	case <-v.sooner:
	case <-v.timer.C:
	}
	v.timer.Stop()
	v.mu.Lock()
	v.wakes = time.Time{}
	clearSignal(v.sooner)
	v.mu.Unlock()
	return yielded
}

// expect records that a reader gives up at an instant.
func (v *virtual) expect(at time.Time) {
	if !v.expiry.IsZero() && !at.Before(v.expiry) {
		return
	}
	v.expiry = at
	if at.Before(v.wakes) {
		signal(v.sooner)
	}
}

// after schedules a call by the driver after d.
func (v *virtual) after(d time.Duration, do func()) {
	t := timer{v.clock().Add(d), do}
	i := len(v.timers)
	for i > 0 && v.timers[i-1].at.After(t.at) {
		i--
	}
	v.timers = slices.Insert(v.timers, i, t)
}

// waitAtMost lets time pass until something happens, a timer is due, or d is over.
func (v *virtual) waitAtMost(d time.Duration) {
	v.mu.Lock()
	clearSignal(v.activity)
	if len(v.timers) > 0 {
		d = min(d, v.timers[0].at.Sub(v.clock()))
	}
	v.mu.Unlock()
	v.pass(max(d, 0), v.activity)
}

func (v *virtual) wakeDriver() { signal(v.activity) }

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

// lateness returns how late a time-out is on a client's connection to a node, given the last
// request.
func lateness(client, node int, last uint64) time.Duration {
	return 1 + time.Duration(mix(hashStart, uint64(client), uint64(node), last)%uint64(latest))
}

// latest is the greatest lateness of a time-out: a context that ends at that instant comes first,
// and no two connections of a client time out at once.
const latest = 50 * time.Microsecond
