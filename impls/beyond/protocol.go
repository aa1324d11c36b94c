package beyond

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/impls"
)

// byMode is a script for each history.Mode; nil where the lock has no such mode.
type byMode [2]*impls.Script

// protocol is what sets the variants apart: which scripts are sent, and over which keys.
//
// All scripts of the package are called alike. KEYS are the lock's own key, the fence counter, and what the variant adds.
// ARGV are the token, the lease in milliseconds, the channel of the wake-ups, whether the client will wait, and the number
// of permits, as far as the variant needs them; each script uses what it needs.
type protocol struct {
	take     byMode
	renew    byMode
	end      byMode
	withdraw *impls.Script
	args     int      // how many of the arguments are sent
	suffixes []string // of the keys after the lock's own and the fence counter
	turns    bool     // a wake-up is for one waiter: each has a channel of its own
	blocks   bool     // a release grants the lock to the first waiter, which blocks on a list of its own until it is told its fence
	many     bool     // a handle may hold more than once
}

// reply is what a take script answers.
type reply struct {
	granted bool
	fence   uint64        // 0 where the variant has none
	wait    time.Duration // for the refused; negative: not known
}

// Suffixes of the Redis keys of a lock, next to its own name. Only the fence counter outlives the holds.
const (
	FenceKey   = ":fence"
	ReadersKey = ":readers"
	WritersKey = ":writers"
	QueueKey   = ":queue"
	PlacesKey  = ":places"
	wakeSuffix = ":wake:"
)

// names are the keys of one lock and the beginning of its channels' names.
type names struct {
	keys    []string
	channel string
}

func (p protocol) names(key string) names {
	n := names{keys: []string{key, impls.Derived(key, FenceKey)}, channel: impls.Derived(key, wakeSuffix)}
	for _, s := range p.suffixes {
		n.keys = append(n.keys, impls.Derived(key, s))
	}
	return n
}

// waiterLists are the lists on which waiters block: the script that releases pushes to that of the first waiter, whose token it alone knows.
type waiterLists struct{}

// Derived returns the list of the waiter that asks.
func (waiterLists) Derived(_, args []string) []string {
	if len(args) < 4 || args[3] != "1" {
		return nil
	}
	return []string{args[2] + args[0]}
}

// channel is where the waiter with a token listens.
func (l *lock) channel(token string) string {
	if l.how.turns {
		return l.names.channel + token
	}
	return l.names.channel
}

func (p protocol) ask(ctx context.Context, l *lock, r *request) (reply, error) {
	values, err := l.run(ctx, p.take[r.mode], r.token, r.waits).Int64Slice()
	if err != nil {
		return reply{}, err
	}
	if values[0] == 1 {
		return reply{granted: true, fence: uint64(values[1])}, nil
	}
	return reply{wait: time.Duration(values[1]) * time.Millisecond}, nil
}

func (p protocol) extend(ctx context.Context, l *lock, h hold) (bool, error) {
	n, err := l.run(ctx, p.renew[h.mode], h.token, false).Int()
	return n == 1, err
}

func (p protocol) release(ctx context.Context, l *lock, h hold) (bool, error) {
	n, err := l.run(ctx, p.end[h.mode], h.token, false).Int()
	return n == 1, err
}

// leave removes every trace of a request.
func (p protocol) leave(ctx context.Context, l *lock, r *request) error {
	return l.run(ctx, p.withdraw, r.token, false).Err()
}

// scripts lists each script once.
func (p protocol) scripts() []*impls.Script {
	var out []*impls.Script
	seen := map[*impls.Script]bool{nil: true}
	for _, s := range []*impls.Script{p.take[0], p.take[1], p.renew[0], p.renew[1], p.end[0], p.end[1], p.withdraw} {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}
