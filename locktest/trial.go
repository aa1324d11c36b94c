package locktest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

const (
	exclusive = history.Exclusive
	shared    = history.Shared
)

// trial is one rule being checked: nodes, clients, and what was found wrong.
type trial struct {
	id    string // of the rule in this process, by which its goroutines are known
	make  maker
	cfg   config
	nodes []*node
	ttl   time.Duration // what the lock is asked to keep
	lease time.Duration // what the server keeps: see ServerLease
	slack time.Duration // by how much an instant may be missed; 0 in virtual time
	key   string
	db    int // of a server that several rules share
	log   *requestLog

	mu       sync.Mutex // a rule may use several goroutines
	problems []string
	notes    []string
	unjudged string
	clients  []*client
}

// poolLinger is how long a goroutine of the Redis client's pool sleeps on after the pool is closed, when nodes could not be
// reached. A bubble may not end before it.
const poolLinger = 2 * time.Second

// giveUp ends a rule that cannot go on.
type giveUp struct{}

// newTrial makes a world whose lock is named after the test. The dot at the end keeps one test's keys from looking like another's.
func newTrial(test string, mk maker, cfg config, nodes []*node) *trial {
	return &trial{id: test, make: mk, cfg: cfg, nodes: nodes, ttl: cfg.lease, lease: cfg.kept(cfg.lease), log: newRequestLog(),
		key: keyName}
}

// keyName is the lock's name; on a server that several rules share a number follows, for channels belong to no database.
const keyName = "job"

// run checks a rule. ended is told what came out before everything that the rule began is brought to an end, which a lock can prevent.
func (c *trial) run(r rule, ended func(result)) {
	c.guard(func() { r.check(c) })
	res := result{Rule: r.name, Problems: c.problems, Notes: c.notes, Unjudged: c.unjudged}
	if len(c.problems) > 0 {
		res.Log = c.log.tail(shownRequests)
	}
	ended(res)
	for _, cl := range c.all() {
		cl.close()
	}
	if c.slack == 0 {
		time.Sleep(poolLinger) // costs nothing in virtual time
	}
}

// shownRequests is how many of the last requests a report of a broken rule shows.
const shownRequests = 12

// guard runs a part of a rule and turns a panic of it into a problem.
func (c *trial) guard(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(giveUp{}) {
			c.errorf("the rule itself panicked: %v\n%s", p, stack())
		}
	}()
	f()
}

// all are the clients so far.
func (c *trial) all() []*client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.clients)
}

func (c *trial) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *trial) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	panic(giveUp{})
}

// note says what is no fault and worth knowing.
func (c *trial) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// cannotJudge ends a rule that has nothing to look at.
func (c *trial) cannotJudge(format string, args ...any) {
	c.mu.Lock()
	c.unjudged = fmt.Sprintf(format, args...)
	c.mu.Unlock()
	panic(giveUp{})
}

// holder says who holds the lock as far as the kit was told, for messages.
func (c *trial) holder(but *client) string {
	var names []string
	for _, cl := range c.all() {
		if cl != but && cl.holds() {
			names = append(names, cl.name)
		}
	}
	return strings.Join(names, " and ")
}

// fates says what became of the holders' keys.
func (c *trial) fates(but *client) string {
	var out strings.Builder
	for _, cl := range c.all() {
		if cl == but || !cl.holds() {
			continue
		}
		name := ""
		if but != nil {
			name = but.name
		}
		if f := c.log.fate(cl.name, name); f != "" {
			out.WriteString("; " + f)
		}
	}
	return out.String()
}

// sleep lets time pass.
func (c *trial) sleep(d time.Duration) { time.Sleep(d) }

// settle lets what is under way arrive.
func (c *trial) settle() { time.Sleep(time.Millisecond + c.slack) }

// late reports whether something took longer than it may.
func (c *trial) late(took, limit time.Duration) bool { return took > limit+c.slack }

// deleteKeys deletes every key of the rule's lock on every node, as an operator or an eviction does. The rule cannot be judged when
// there is none: it would pass whatever the lock does.
func (c *trial) deleteKeys() {
	if c.clear() == 0 {
		c.cannotJudge("keys not found: the lock has no key on the server while a client holds it, so that none can be deleted")
	}
}

// clear deletes every key of the rule's lock, and counts them.
func (c *trial) clear() (deleted int) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			n.admin.Del(context.Background(), k)
			deleted++
		}
	}
	return deleted
}

// keysOf lists the keys of the rule's lock on a node: all that there are, whatever the lock calls them, for no other rule uses the
// database.
func (c *trial) keysOf(n *node) []string {
	if n.mini != nil {
		return n.mini.Keys()
	}
	conn := n.admin.Conn()
	defer conn.Close()
	if c.db > 0 && conn.Select(context.Background(), c.db).Err() != nil {
		return nil
	}
	return conn.Keys(context.Background(), "*").Val()
}

// empty deletes what an earlier check left in the rule's database. The servers are the kit's own.
func (c *trial) empty() {
	for _, n := range c.nodes {
		conn := n.admin.Conn()
		if err := errors.Join(conn.Select(context.Background(), c.db).Err(), conn.FlushDB(context.Background()).Err(), conn.Close()); err != nil {
			c.note("empty database %d: %v", c.db, err)
		}
	}
}

// ends is how long the server still keeps each of the keys that have an end.
func (c *trial) ends() (all []time.Duration) {
	for _, n := range c.nodes {
		for _, k := range c.keysOf(n) {
			if d := c.pttl(n, k); d > 0 {
				all = append(all, d)
			}
		}
	}
	return all
}

// number is what a key holds that is a string of digits; false when it is something else.
func (c *trial) number(n *node, key string) (int64, bool) {
	conn := n.admin.Conn()
	defer conn.Close()
	if n.mini == nil && c.db > 0 && conn.Select(context.Background(), c.db).Err() != nil {
		return 0, false
	}
	v, err := conn.Get(context.Background(), key).Int64()
	return v, err == nil
}

func (c *trial) pttl(n *node, key string) time.Duration {
	if n.mini != nil {
		if d := n.mini.TTL(key); d > 0 {
			return d
		}
		return -1
	}
	conn := n.admin.Conn()
	defer conn.Close()
	if c.db > 0 && conn.Select(context.Background(), c.db).Err() != nil {
		return 0
	}
	d := conn.PTTL(context.Background(), key).Val()
	if d == -2 {
		return 0
	}
	return d
}

// mine reports whether a channel is one of the rule's lock.
func (c *trial) mine(name string) bool {
	return c.nodes[0].mini != nil || strings.Contains(strings.NewReplacer("{", "", "}", "").Replace(name), c.key)
}

func say(err error) string {
	if err == nil {
		return "nil"
	}
	return err.Error()
}

// outcome is an error in the words of the interfaces: a refusal of TryLock is false, not an error.
func (cl *client) outcome(err error) string {
	switch {
	case err == nil:
		return "granted"
	case errors.Is(err, impls.ErrBusy):
		return "refused"
	}
	return say(err)
}
