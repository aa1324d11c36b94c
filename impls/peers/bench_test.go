package peers

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// crowdSizes are the numbers of clients that compete.
var crowdSizes = [...]int{2, 8, 32}

// contest is everything that is measured.
type contest struct {
	admin  *redis.Client
	order  *rand.Rand
	ping   *roundTrip
	solos  []*solo
	crowds [len(crowdSizes)][]*crowd
	queues []*queue
	floor  []time.Duration // like a queue's cpu, when nobody waits
}

// BenchmarkLocks measures all subjects in rounds and prints the tables to standard output. One iteration is one round: every
// subject alone, in crowds and waiting, each in its turn.
func BenchmarkLocks(b *testing.B) {
	c := newContest(b, redistest.NewReal(b).Addr)
	c.round(b) // connections, scripts, pools
	c.forget()
	for b.Loop() {
		c.round(b)
	}
	if _, err := fmt.Fprint(os.Stdout, "\n", c.markdown()); err != nil {
		b.Fatal(err)
	}
}

func newContest(b *testing.B, addr string) *contest {
	b.Helper()
	c := &contest{admin: redis.NewClient(&redis.Options{Addr: addr}), order: rand.New(rand.NewPCG(1, 2)), ping: &roundTrip{}}
	b.Cleanup(func() { _ = c.admin.Close() })
	for i, s := range subjects(b) {
		o := newSolo(b, s, addr)
		c.solos = append(c.solos, o)
		if i == 0 {
			c.ping.redis = o.client.redis
		}
		if !s.waits {
			continue
		}
		for i, n := range crowdSizes {
			c.crowds[i] = append(c.crowds[i], newCrowd(b, s, addr, n))
		}
		c.queues = append(c.queues, newQueue(b, s, addr))
	}
	return c
}

// round gives each subject its turn at everything.
func (c *contest) round(b *testing.B) {
	b.Helper()
	c.ping.turn(b)
	soloRound(b, c.solos, c.order)
	for _, size := range c.crowds {
		for _, s := range size {
			s.turn(b, c.admin)
		}
	}
	for _, q := range c.queues {
		q.turn(b, c.admin)
	}
	c.floor = append(c.floor, perWaiter(spent(watch)))
}

// forget drops what was measured so far.
func (c *contest) forget() {
	c.ping.busy, c.ping.idle, c.floor = nil, nil, nil
	for _, s := range c.solos {
		s.times = nil
	}
	for _, size := range c.crowds {
		for _, s := range size {
			*s = crowd{subject: s.subject, clients: s.clients}
		}
	}
	for _, q := range c.queues {
		*q = queue{subject: q.subject, holder: q.holder, waiters: q.waiters}
	}
}
