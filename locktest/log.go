package locktest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// entry is one request of the lock, as it was sent and answered.
type entry struct {
	at     time.Duration // since the rule began
	client string
	call   string // the method that was running: "Unlock"; "" for what a lock does in the background
	words  []string
	write  bool
	keys   []string // that it names
	reply  string
	made   []string
	gone   []string // keys that it deleted
	owners []string // of those, in the same order: whose hold they were
}

// effect is what the request changed: "deleted job".
func (e entry) effect() string {
	var out []string
	for _, k := range e.made {
		out = append(out, "made "+k)
	}
	for _, k := range e.gone {
		out = append(out, "deleted "+k)
	}
	return strings.Join(out, ", ")
}

// who is the client and its method: "a.Unlock".
func (e entry) who() string {
	if e.call == "" {
		return e.client + " in the background"
	}
	return e.client + "." + e.call
}

// command is the request as people write it, with digests and tokens shortened.
func (e entry) command() string { return strings.Join(e.words, " ") }

func (e entry) String() string {
	s := fmt.Sprintf("%9s  %s: %s -> %s", e.at.Round(time.Microsecond*100), e.who(), e.command(), e.reply)
	if effect := e.effect(); effect != "" {
		s += "  (" + effect + ")"
	}
	return s
}

const (
	wordSize  = 24   // bytes of an argument that are shown
	logLimit  = 4096 // entries that are kept
	keysKnown = 64   // beyond so many keys the log does not look for what a request changed
)

// requestLog is what all clients of a rule sent, and what that did to the keys.
type requestLog struct {
	total   atomic.Int64 // requests sent
	mu      sync.Mutex   // clients and their background goroutines write at once
	begin   time.Time
	entries []*entry
	keys    map[*node]map[string]bool
	writers map[string]string // by key: the client whose request changed it last, as far as replies tell
	owners  map[string]string // by key: the client that was granted the lock when it had written it
}

func newRequestLog() *requestLog {
	return &requestLog{begin: time.Now(), keys: map[*node]map[string]bool{},
		writers: map[string]string{}, owners: map[string]string{}}
}

// sent notes a request.
func (l *requestLog) sent(client, call string, r resp.Request) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Add(1)
	e := &entry{at: time.Since(l.begin), client: client, call: call, words: append([]string{r.Name()}, r.Strings(8, wordSize)...),
		write: r.IsWrite(), reply: "(no reply)"}
	args := make([]string, r.Len())
	for i := range args {
		args[i] = string(r.Arg(i))
	}
	e.keys = resp.Keys(args)
	if len(l.entries) < logLimit {
		l.entries = append(l.entries, e)
	}
	return e
}

// answered notes a reply, and what the request changed on a node whose keys can be looked at.
func (l *requestLog) answered(e *entry, n *node, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.reply = line
	if n.mini == nil {
		return
	}
	now := map[string]bool{}
	all := n.mini.Keys()
	if len(all) > keysKnown {
		l.keys[n] = nil
		return
	}
	for _, k := range all {
		now[k] = true
	}
	before := l.keys[n]
	l.keys[n] = now
	if !e.write && e.words[0] != "EXEC" {
		return
	}
	if line != "(nil)" && line != "0" {
		for _, k := range e.keys {
			l.writers[k] = e.client
		}
	}
	for k := range now {
		if !before[k] {
			l.writers[k] = e.client
			e.made = append(e.made, k)
		}
	}
	for k := range before {
		if !now[k] {
			e.gone, e.owners = append(e.gone, k), append(e.owners, l.owners[k])
		}
	}
	slices.Sort(e.made)
}

// granted notes that a client was granted the lock: what it wrote last is its hold.
func (l *requestLog) granted(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, w := range l.writers {
		if w == client {
			l.owners[k] = client
		}
	}
}

// fate says who deleted the keys of a client's hold; "" when they are there or gone by themselves. What the client but did is left out.
func (l *requestLog) fate(client, but string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.entries) {
		if e.client == but {
			continue
		}
		for i, k := range e.gone {
			if e.owners[i] == client {
				return fmt.Sprintf("%s's key %s was deleted by %s (%s)", client, k, e.who(), e.command())
			}
		}
		if e.client == client && len(e.made) > 0 {
			return ""
		}
	}
	return ""
}

// tail is the last n entries, for a report.
func (l *requestLog) tail(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.entries[max(0, len(l.entries)-n):] {
		out = append(out, e.String())
	}
	return out
}

// blocking are commands with which a waiter sleeps on the server.
var blocking = map[string]bool{"BLPOP": true, "BRPOP": true, "BLMOVE": true, "BRPOPLPUSH": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true, "BZMPOP": true,
	"XREAD": true, "XREADGROUP": true}

// pause is the longest time between two requests of a client since an instant, and between the last one and now; blocks reports whether
// one of them was of those that sleep on the server.
func (l *requestLog) pause(client string, since time.Time) (longest time.Duration, blocks bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := since.Sub(l.begin)
	for _, e := range l.entries {
		if e.client == client && e.at >= last {
			longest, last = max(longest, e.at-last), e.at
			blocks = blocks || blocking[e.words[0]]
		}
	}
	return max(longest, time.Since(l.begin)-last), blocks
}

// count is the number of requests that a client sent in the time since.
func (l *requestLog) count(client string, since time.Time) (n int, last string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if e.client == client && e.at >= since.Sub(l.begin) {
			n, last = n+1, e.command()
		}
	}
	return n, last
}
