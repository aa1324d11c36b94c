package beyond

import (
	"context"

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

// Suffixes of the Redis keys of a lock. Only the fence counter outlives the holds.
const (
	fenceKey   = ":fence"
	readersKey = ":readers"
	writersKey = ":writers"
	queueKey   = ":queue"
	placesKey  = ":places"
	wakeSuffix = ":wake:"
)

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

// yes calls a script that replies whether the server knew the hold.
func (l *lock) yes(ctx context.Context, s *impls.Script, h *hold) (bool, error) {
	n, err := l.run(ctx, s, h.token, false).Int()
	return n == 1, err
}

// run calls a script with the lock's arguments.
func (l *lock) run(ctx context.Context, s *impls.Script, token string, waits bool) *redis.Cmd {
	args := [...]any{token, l.env.Lease.Milliseconds(), l.wakes, 0, max(l.env.Permits, 1)}
	if waits {
		args[3] = 1
	}
	return s.Run(ctx, l.env.Redis(), l.keys, args[:l.how.args]...)
}
