package locktest

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/internal/resp"
)

// entry is one request of the lock, with its reply.
type entry struct {
	at     time.Duration // since the rule began
	client string
	call   string // the method that was running: "Unlock"; "" for requests sent in the background
	args   []string
	words  []string // the first of them, shortened
	write  bool
	keys   []string // keys in the request
	reply  string
	made   []string
	gone   []string // keys that it deleted
	owners []string // the clients whose holds these keys were, in the same order
}

// who returns the client and its method: "a.Unlock".
func (e entry) who() string {
	if e.call == "" {
		return e.client + " in the background"
	}
	return e.client + "." + e.call
}

// command returns the request as text, with digests and tokens shortened.
func (e entry) command() string { return strings.Join(e.words, " ") }

func (e entry) String() string {
	var changed []string
	for _, k := range e.made {
		changed = append(changed, "made "+k)
	}
	for _, k := range e.gone {
		changed = append(changed, "deleted "+k)
	}
	s := fmt.Sprintf("%9s  %s: %s -> %s", e.at.Round(time.Microsecond*100), e.who(), e.command(), e.reply)
	if len(changed) > 0 {
		s += "  (" + strings.Join(changed, ", ") + ")"
	}
	return s
}

// noReply stands for the reply of a request that got none, or not yet.
const noReply = "(no reply)"

const (
	wordSize  = 24   // bytes shown of an argument
	logLimit  = 4096 // entries that are kept
	keysKnown = 64   // with more keys than this the log does not look for what a request changed
)

// requestLog has the requests of all clients of a rule, and their effects on the keys.
type requestLog struct {
	total   atomic.Int64 // requests sent
	mu      sync.Mutex   // clients and their background goroutines write concurrently
	begin   time.Time
	entries []*entry
	keys    map[*node]map[string]time.Time // with the end of each; zero for none
	crowded map[*node]bool                 // it has had more than keysKnown keys since it was cleared
	writers map[string]string              // by key: the last client whose request changed it, judged by the replies
	owners  map[string]string              // by key: the client that was granted the lock after writing it
}

func newRequestLog() *requestLog {
	return &requestLog{begin: time.Now(), keys: map[*node]map[string]time.Time{},
		crowded: map[*node]bool{}, writers: map[string]string{}, owners: map[string]string{}}
}

// sent records a request.
func (l *requestLog) sent(client, call string, r resp.Request) *entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total.Add(1)
	e := &entry{at: time.Since(l.begin), client: client, call: call, args: make([]string, r.Len()),
		words: append([]string{r.Name()}, r.Strings(8, wordSize)...), write: r.IsWrite(), reply: noReply}
	for i := range e.args {
		e.args[i] = string(r.Arg(i))
	}
	e.keys = resp.Keys(e.args)
	if len(l.entries) < logLimit {
		l.entries = append(l.entries, e)
	}
	return e
}

// quoted are the strings of a script.
var quoted = regexp.MustCompile(`'([^'\\]{1,24})'|"([^"\\]{1,24})"`)

// constants returns the words that belong to the lock and to no client: those that scripts quote,
// and short arguments in requests of several clients.
func (l *requestLog) constants() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	senders := map[string]string{} // by word; "" for a script, and for several clients
	for _, e := range l.entries {
		for i, a := range e.args {
			switch first, known := senders[a]; {
			case i == 1 && e.args[0] == "EVAL":
				for _, m := range quoted.FindAllStringSubmatch(a, -1) {
					senders[cmp.Or(m[1], m[2])] = ""
				}
			case i == 0 || a == "" || len(a) > wordSize:
			case known && first != e.client:
				senders[a] = ""
			default:
				senders[a] = e.client
			}
		}
	}
	for word, client := range senders {
		if client == "" {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	return all
}

// answered records a reply, and what the request changed if the node's keys can be read.
func (l *requestLog) answered(e *entry, n *node, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.reply = line
	if n.fake == nil || l.crowded[n] || !e.write && e.words[0] != "EXEC" {
		return
	}
	now := map[string]time.Time{}
	all := n.fake.Left()
	if len(all) > keysKnown { // asking after each reply would take more time than the rule
		l.crowded[n] = true
		delete(l.keys, n)
		return
	}
	for k, left := range all {
		now[k] = time.Time{}
		if left > 0 {
			now[k] = time.Now().Add(left)
		}
	}
	before := l.keys[n]
	l.keys[n] = now
	if line != "(nil)" && line != "0" {
		for _, k := range e.keys {
			l.writers[k] = e.client
		}
	}
	for k := range now {
		if _, was := before[k]; !was {
			l.writers[k] = e.client
			e.made = append(e.made, k)
		}
	}
	for k, end := range before {
		if _, is := now[k]; !is && (end.IsZero() || time.Now().Before(end)) { // or else it expired
			e.gone, e.owners = append(e.gone, k), append(e.owners, l.owners[k])
		}
	}
	slices.Sort(e.made)
}

// cleared records that the kit has deleted a node's keys: no request did.
func (l *requestLog) cleared(n *node) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.keys, n)
	delete(l.crowded, n)
}

// granted records that a client was granted the lock: the keys that it wrote last are its hold.
func (l *requestLog) granted(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for k, w := range l.writers {
		if w == client {
			l.owners[k] = client
		}
	}
}

// keyEvents says which client deleted the keys of a client's hold; "" if they exist or expired. It
// ignores the requests of the client that but names.
func (l *requestLog) keyEvents(client, but string) string {
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

// answeredAll reports whether every request has got its reply.
func (l *requestLog) answeredAll() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !slices.ContainsFunc(l.entries, func(e *entry) bool { return e.reply == noReply })
}

// tail returns the last n entries, for a report.
func (l *requestLog) tail(n int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, e := range l.entries[max(0, len(l.entries)-n):] {
		out = append(out, e.String())
	}
	return out
}

// lastOf returns the last request of a client, for a message.
func (l *requestLog) lastOf(client string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range slices.Backward(l.entries) {
		if e.client == client {
			return "; its last request was " + e.String()
		}
	}
	return ""
}

// spelling is the prefix and suffix with which a lock makes a key from its name.
type spelling struct{ before, behind string }

// spellings returns the prefixes and suffixes around a name in keys that more than one client has
// sent: a key with a token belongs to one client.
func (l *requestLog) spellings(name string) (all []spelling) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := map[spelling]string{}
	for _, e := range l.entries {
		for _, k := range e.keys {
			before, behind, found := strings.Cut(k, name)
			p := spelling{before, behind}
			if !found || slices.Contains(all, p) {
				continue
			}
			if client := cmp.Or(first[p], e.client); client != e.client {
				all = append(all, p)
			} else {
				first[p] = client
			}
		}
	}
	return all
}

// blocking are commands with which a waiter blocks on the server.
var blocking = map[string]bool{"BLPOP": true, "BRPOP": true, "BLMOVE": true, "BRPOPLPUSH": true, "BLMPOP": true, "BZPOPMIN": true, "BZPOPMAX": true, "BZMPOP": true,
	"XREAD": true, "XREADGROUP": true}

// pause returns the longest time between two requests of a client since an instant, and between the
// last one and now; blocks reports whether one of them was a blocking command.
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

// count returns the number of requests that a client has sent since an instant.
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
