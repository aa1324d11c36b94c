package beyond

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// byMode has a script for each history.Mode; nil if the lock lacks the mode.
type byMode [2]*impls.Script

// protocol is what distinguishes the locks: their scripts and keys.
//
// All scripts have the same parameters. KEYS: the lock's key, the fence counter, and the lock's
// other keys. ARGV: the token, the lease in milliseconds, the channel for notifications, whether
// the client waits, and the number of permits, up to the last one that the lock needs.
type protocol struct {
	take     byMode
	renew    byMode
	end      byMode
	withdraw *impls.Script
	args     int      // number of arguments sent
	suffixes []string // of the other keys
	turns    bool     // each waiter has its own channel
	blocks   bool     // a release grants the lock to the first waiter, which blocks on its own list for the fence
	many     bool     // a handle may hold more than once
}

// reply is the reply of a take script.
type reply struct {
	granted bool
	fence   uint64        // 0 if the lock has none
	wait    time.Duration // if refused, until the next change; negative: not known
}

// Suffixes of the Redis keys of a lock. Only the fence counter outlives the holds.
const (
	fenceKey   = ":fence"
	readersKey = ":readers"
	writersKey = ":writers"
	queueKey   = ":queue"
	placesKey  = ":places"
	wakeSuffix = ":wake:"
)

// names returns the keys of one lock and the prefix of its channels.
func (p protocol) names(key string) (keys []string, wakes string) {
	keys = []string{key, impls.Derived(key, fenceKey)}
	for _, s := range p.suffixes {
		keys = append(keys, impls.Derived(key, s))
	}
	return keys, impls.Derived(key, wakeSuffix)
}

// waiterLists derives the lists on which waiters block; the release script pushes to that of the
// first waiter.
type waiterLists struct{}

// Derived returns the list of the calling waiter.
func (waiterLists) Derived(_, args []string) []string {
	if len(args) < 4 || args[3] != "1" {
		return nil
	}
	return []string{args[2] + args[0]}
}

// channel returns the channel of the waiter with a token.
func (l *lock) channel(token string) string {
	if l.how.turns {
		return l.wakes + token
	}
	return l.wakes
}

func (l *lock) take(ctx context.Context, r *request) (reply, error) {
	values, err := l.run(ctx, l.how.take[r.mode], r.token, r.waits).Int64Slice()
	if err != nil {
		return reply{}, err
	}
	if values[0] == 1 {
		return reply{granted: true, fence: uint64(values[1])}, nil
	}
	return reply{wait: time.Duration(values[1]) * time.Millisecond}, nil
}

// yes calls a script that replies whether the server knew the hold.
func (l *lock) yes(ctx context.Context, s *impls.Script, h *hold) (bool, error) {
	n, err := l.run(ctx, s, h.token, false).Int()
	return n == 1, err
}

// scripts returns each script once.
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

// run calls a script with the lock's arguments.
func (l *lock) run(ctx context.Context, s *impls.Script, token string, waits bool) *redis.Cmd {
	args := [...]any{token, l.env.Lease.Milliseconds(), l.wakes, boolean(waits), max(l.env.Permits, 1)}
	return s.Run(ctx, l.env.Redis(), l.keys, args[:l.how.args]...)
}

func boolean(b bool) any {
	if b {
		return 1
	}
	return 0
}
