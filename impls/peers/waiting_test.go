package peers

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
)

const (
	waiters = 8
	// settling is for how long the waiters may subscribe before the measurement.
	settling = 50 * time.Millisecond
	// watch is for how long they are measured.
	watch = 250 * time.Millisecond
)

// queue is a holder that does nothing and clients that wait for it.
type queue struct {
	subject
	holder  *client
	waiters []*client
	cpu     []time.Duration // of the process for each second of one client's waiting, by round
	cost    traffic         // of all rounds
	waited  time.Duration   // of all clients together
}

func newQueue(b *testing.B, s subject, addr string) *queue {
	b.Helper()
	q := &queue{subject: s, holder: connect(b, s, addr, "waiting", 0)}
	for i := range waiters {
		q.waiters = append(q.waiters, connect(b, s, addr, "waiting", i+1))
	}
	return q
}

// turn holds the lock for a while, and measures what the waiting costs meanwhile.
func (q *queue) turn(b *testing.B, admin *redis.Client) {
	b.Helper()
	if _, err := q.holder.Acquire(b.Context(), history.Exclusive); err != nil {
		b.Fatalf("%s: %v", q.name, err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var waiting sync.WaitGroup
	for _, c := range q.waiters {
		waiting.Go(func() {
			if _, err := c.Acquire(ctx, history.Exclusive); err == nil {
				b.Errorf("%s: granted to a second client", q.name)
			}
		})
	}
	time.Sleep(settling)
	q.measure()
	cancel()
	waiting.Wait()
	if err := q.holder.Release(b.Context()); err != nil {
		b.Errorf("%s: %v", q.name, err)
	}
	sweep(b, admin)
}

func (q *queue) measure() {
	for _, c := range q.waiters {
		c.wires.start()
	}
	used, took := spent(watch)
	for _, c := range q.waiters {
		q.cost = q.cost.plus(c.wires.stop())
	}
	q.waited += took * waiters
	q.cpu = append(q.cpu, perWaiter(used, took))
}

// spent is what the process uses of the processors while the caller sleeps.
func spent(d time.Duration) (used, took time.Duration) {
	runtime.GC() // what others left is not this one's
	begin, before := time.Now(), cpuTime()
	time.Sleep(d)
	return cpuTime() - before, time.Since(begin)
}

// perWaiter is the share of one waiter and of one second.
func perWaiter(used, took time.Duration) time.Duration {
	return time.Duration(float64(used) / took.Seconds() / waiters)
}
