package peers

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// pairsPerLap is how often one subject acquires and releases before it is another's turn.
	pairsPerLap = 10
	// laps is how many turns each subject has in a round.
	laps = 40
	// pings is how many PINGs of a round come one after the other, and idlePings how many after a pause.
	pings, idlePings = 200, 30
)

// solo is one client that nobody competes with.
type solo struct {
	subject
	client *client
	times  []time.Duration // of one acquire and release, by round
	allocs float64         // of one acquire and release, in the whole process
	cost   traffic         // of one lap
}

func newSolo(b *testing.B, s subject, addr string) *solo {
	b.Helper()
	o := &solo{subject: s, client: connect(b, s, addr, "alone", 0)}
	for range 20 { // connections, scripts, pools
		if err := o.client.pair(b.Context()); err != nil {
			b.Fatalf("%s: %v", s.name, err)
		}
	}
	return o
}

// lap acquires and releases a few times, and gives for how long each took.
func (o *solo) lap(b *testing.B) time.Duration {
	b.Helper()
	begin := time.Now()
	for range pairsPerLap {
		if err := o.client.pair(b.Context()); err != nil {
			b.Fatalf("%s: %v", o.name, err)
		}
	}
	return time.Since(begin) / pairsPerLap
}

// weigh counts what one acquire and release costs besides time.
func (o *solo) weigh(b *testing.B) {
	b.Helper()
	var before, after runtime.MemStats
	o.client.wires.start()
	runtime.ReadMemStats(&before)
	o.lap(b)
	runtime.ReadMemStats(&after)
	o.allocs = float64(after.Mallocs-before.Mallocs) / pairsPerLap
	o.cost = o.client.wires.stop()
}

// soloRound gives each subject its laps. They are short and their order is drawn anew for each: on which processors the client and the
// server run changes the time by half, and this must not stay with one subject.
func soloRound(b *testing.B, all []*solo, order *rand.Rand) {
	b.Helper()
	sums := make([]time.Duration, len(all))
	for range laps {
		for _, i := range order.Perm(len(all)) {
			sums[i] += all[i].lap(b)
		}
	}
	for i, o := range all {
		o.times = append(o.times, sums[i]/laps)
		o.weigh(b)
	}
}

// roundTrip measures a PING over a warm connection of the same make: one after the other, and each after a pause as long as
// a holder's work, which leaves the processors as asleep as a hand-over finds them.
type roundTrip struct {
	redis *redis.Client
	busy  []time.Duration // by round
	idle  []time.Duration // each
}

func (r *roundTrip) turn(b *testing.B) {
	b.Helper()
	begin := time.Now()
	for range pings {
		r.ping(b)
	}
	r.busy = append(r.busy, time.Since(begin)/pings)
	for range idlePings {
		time.Sleep(work)
		begin := time.Now()
		r.ping(b)
		r.idle = append(r.idle, time.Since(begin))
	}
}

func (r *roundTrip) ping(b *testing.B) {
	b.Helper()
	if err := r.redis.Ping(b.Context()).Err(); err != nil {
		b.Fatal(err)
	}
}
