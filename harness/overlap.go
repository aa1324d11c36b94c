package harness

import (
	"sync"
	"sync/atomic"

	"github.com/lockbench/lockbench/history"
)

// overlaps counts, for the progress line, the uses in which a client met another that should not be
// inside. The verdict is of the whole record. nil counts none.
type overlaps struct {
	slack int64 // nanoseconds by which two clients' times may disagree
	found atomic.Int64
	keys  sync.Map // of *keyUses, by key
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

// add records a use that has ended. Uses arrive in the order of their ends, so each is compared
// with those that ended before.
func (o *overlaps) add(client string, use history.Operation) {
	if o == nil {
		return
	}
	found, known := o.keys.Load(use.Key)
	if !known {
		found, _ = o.keys.LoadOrStore(use.Key, new(keyUses))
	}
	k := found.(*keyUses)
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
