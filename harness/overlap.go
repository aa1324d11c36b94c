package harness

import (
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
)

// overlaps counts, for the progress line, the uses in which a client met another that should not be inside. The verdict is of the whole record.
type overlaps struct {
	slack int64 // nanoseconds by which two clients' times may disagree
	found atomic.Int64

	mu   sync.Mutex // guards keys
	keys map[string]*keyUses
}

type keyUses struct {
	mu                sync.Mutex // guards the fields below
	exclusive, shared latestUses
}

// latestUses holds the latest end of a use, and the latest end of a use by a different client.
type latestUses struct {
	client        string
	end, othersAt int64
}

// newOverlaps returns a counter for a lock of a kind; nil for a kind that admits several holders.
func newOverlaps(kind history.Kind) *overlaps {
	if kind == history.Semaphore {
		return nil
	}
	return &overlaps{keys: map[string]*keyUses{}}
}

func (l *latestUses) add(client string, end int64) {
	switch {
	case client == l.client:
		l.end = max(l.end, end)
	case end >= l.end:
		l.client, l.end, l.othersAt = client, end, l.end
	default:
		l.othersAt = max(l.othersAt, end)
	}
}

// of returns the latest end of a use of another client.
func (l *latestUses) of(client string) int64 {
	if client == l.client {
		return l.othersAt
	}
	return l.end
}

func (o *overlaps) of(key string) *keyUses {
	o.mu.Lock()
	defer o.mu.Unlock()
	k, ok := o.keys[key]
	if !ok {
		k = &keyUses{}
		o.keys[key] = k
	}
	return k
}

// clientUses counts the overlaps of one client's uses. Only the client's own goroutine uses it during the run.
type clientUses struct {
	all    *overlaps // nil: several clients may be inside
	client string
	key    string // last used
	of     *keyUses
}

func (u *clientUses) add(use history.Operation) {
	if u.all == nil {
		return
	}
	if u.of == nil || u.key != use.Key {
		u.key, u.of = use.Key, u.all.of(use.Key)
	}
	u.all.add(u.of, u.client, use)
}

// add records a use that has ended. Uses arrive in the order of their ends, so each is compared with those that ended before.
func (o *overlaps) add(k *keyUses, client string, use history.Operation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	met := k.exclusive.of(client)
	if use.Mode == history.Shared {
		k.shared.add(client, use.Return)
	} else {
		met = max(met, k.shared.of(client))
		k.exclusive.add(client, use.Return)
	}
	if use.Call+o.slack < met {
		o.found.Add(1)
	}
}
