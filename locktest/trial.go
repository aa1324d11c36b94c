package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

const (
	exclusive = history.Exclusive
	shared    = history.Shared
)

// trial is the check of one rule: nodes, clients, and the problems found.
type trial struct {
	id    string // identifies the rule's goroutines in this process
	make  maker
	cfg   config
	nodes []*node
	ttl   time.Duration // the lease requested from the lock
	lease time.Duration // the longest that the server keeps a hold: see ServerLease
	least time.Duration // the shortest
	slack time.Duration // how late something may be; 0 in virtual time
	key   string
	log   *requestLog

	mu       sync.Mutex // a rule may use several goroutines
	problems []string
	worst    int // how many of them, at the front, say that two clients held
	notes    []string
	unjudged string
	clients  []*client
	cleared  int // how often the kit has deleted keys
	reached  history.Reach

	cast    map[who]*client // the clients of the steps
	story   []string        // what the steps have done
	mark    time.Time       // from which limits count, see due
	last    time.Time       // the end of what was last done
	resends int             // how often the Redis clients made from here on repeat a request
	hangs   string          // the call that did not return
}

// poolLinger is how long a goroutine of the Redis client's pool sleeps after the pool is closed, if
// nodes were unreachable. A bubble must not end before it.
const poolLinger = 2 * time.Second

// giveUp ends a rule that can't go on.
type giveUp struct{}

// newTrial makes a world whose lock is named after the test. The dot at the end keeps one test's
// keys from being a prefix of another's.
func newTrial(test string, mk maker, cfg config, nodes []*node) *trial {
	return &trial{id: test, make: mk, cfg: cfg, nodes: nodes, ttl: cfg.lease, lease: cfg.kept(cfg.lease), least: cfg.least(cfg.lease), log: newRequestLog(),
		key: keyName, cast: map[who]*client{}, reached: history.Reach{aGrant: 0}}
}

// keyName is the lock's name; on a shared server a number is appended, because channels belong to
// no database.
const keyName = "job"

// run checks a rule. It passes the result to ended before it stops what the rule started, because a
// lock can prevent that.
func (c *trial) run(r rule, ended func(result)) {
	c.catchPanics(func() { r.check(c) })
	c.mu.Lock() // connections of the lock may still deliver
	reached := maps.Clone(c.reached)
	c.mu.Unlock()
	res := result{Rule: r.name, Problems: fewOfEach(c.problems), Notes: fewOfEach(c.notes), Unjudged: c.unjudged, Hangs: c.hangs, Reached: reached}
	if never := reached.Never(); len(never) > 0 && len(c.problems) == 0 {
		res.Unjudged = cmp.Or(res.Unjudged, "under it there was never "+strings.Join(never, ", "))
	}
	for _, n := range c.nodes {
		if n.fake != nil && n.fake.Refused() != "" {
			what := n.fake.Refused()
			res.Problems, res.Unjudged = nil, "the lock sends "+what+", which the embedded server does not have"
		}
	}
	if len(res.Problems) > 0 {
		res.Log = c.log.tail(shownRequests)
	}
	ended(res)
	for _, cl := range c.all() {
		c.catchPanics(cl.close) // a Close that does not return is a matter of rules that close
	}
	if c.slack == 0 {
		time.Sleep(poolLinger) // costs nothing in virtual time
	}
}

// fewOfEach leaves out what differs from earlier lines in names and numbers only, from the third
// on, and says how many those are.
func fewOfEach(lines []string) (out []string) {
	const few = 3
	seen := map[string]int{}
	for _, l := range lines {
		head, _, _ := strings.Cut(l, "\n")
		kind := varying.ReplaceAllString(head, "·")
		if seen[kind]++; seen[kind] <= few {
			out = append(out, l)
		}
	}
	more := 0
	for _, n := range seen {
		more += max(n-few, 0)
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("(and %d more lines like these)", more))
	}
	return out
}

// varying is what may differ between two lines that say the same.
var varying = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[0-9]+[a-zµ]*`)

// shownRequests is how many of the last requests the report of a broken rule shows.
const shownRequests = 12

// catchPanics runs a part of a rule and turns a panic into a problem.
func (c *trial) catchPanics(f func()) {
	defer func() {
		if p := recover(); p != nil && p != any(giveUp{}) {
			c.errorf("the rule itself panicked: %v\n%s", p, stack())
		}
	}()
	f()
}

// all returns the clients so far.
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

// worstf is errorf for what a reader must see first: a second holder.
func (c *trial) worstf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = slices.Insert(c.problems, c.worst, fmt.Sprintf(format, args...))
	c.worst++
}

func (c *trial) fatalf(format string, args ...any) {
	c.errorf(format, args...)
	panic(giveUp{})
}

// note records an observation that is not a fault.
func (c *trial) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// cannotJudge ends a rule that has nothing to check.
func (c *trial) cannotJudge(format string, args ...any) {
	c.mu.Lock()
	c.unjudged = fmt.Sprintf(format, args...)
	c.mu.Unlock()
	panic(giveUp{})
}

// holders returns the clients but one that by their own account hold the lock.
func (c *trial) holders(but *client) []*client {
	return slices.DeleteFunc(c.all(), func(cl *client) bool {
		cl.mu.Lock()
		defer cl.mu.Unlock()
		return cl == but || cl.held == 0 || cl.dead
	})
}

// aGrant is what every rule must reach: one under which no client is granted the lock is kept by a
// lock that does nothing. A constructor that refuses counts as well.
const aGrant = "a grant"

func (c *trial) did(thing string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reached.Did(thing)
}

// keyEvents says what happened to the holders' keys.
func (c *trial) keyEvents(but *client) (out string) {
	name := ""
	if but != nil {
		name = but.name
	}
	for _, cl := range c.holders(but) {
		if f := c.log.keyEvents(cl.name, name); f != "" {
			out += "; " + f
		}
	}
	return out
}

// settle lets requests and replies under way arrive.
func (c *trial) settle() { time.Sleep(time.Millisecond + c.slack) }

// takeBack lets a client undo, in the background or by a short lease, what an acquire has left that
// failed or was given up.
func (c *trial) takeBack() { time.Sleep(c.lease/takeBackShare + c.slack) }

// takeBackShare: a client may take a takeBackShare-th of the lease for that.
const takeBackShare = 4

// late reports whether something took longer than allowed.
func (c *trial) late(took, limit time.Duration) bool { return took > limit+c.slack }

// deleteKeys deletes every key of the rule's lock on every node, as an operator or an eviction
// does. If there is none, it ends the rule, which would pass with any lock.
func (c *trial) deleteKeys() {
	if c.clear() == 0 {
		c.cannotJudge("keys not found: the lock has no key on the server while a client holds it, so that none can be deleted")
	}
}

// clear deletes every key of the rule's lock and returns how many.
func (c *trial) clear() (deleted int) {
	keys := map[*node][]string{}
	for _, n := range c.nodes {
		keys[n] = c.keysOf(n)
	}
	return c.del(keys)
}

// asks returns what is true when a call begins that asks for the lock.
func (c *trial) asks() asking {
	c.mu.Lock()
	defer c.mu.Unlock()
	return asking{time.Now(), c.cleared}
}

// asking is when a client asked for the lock, and how often keys had been deleted then.
type asking struct {
	at      time.Time
	cleared int
}

// del deletes keys and returns how many.
func (c *trial) del(keys map[*node][]string) (deleted int) {
	c.mu.Lock()
	c.cleared++
	c.mu.Unlock()
	for n, names := range keys {
		if len(names) > 0 {
			n.admin.Del(context.Background(), names...)
		}
		deleted += len(names)
		c.log.cleared(n)
	}
	return deleted
}

// keysOf returns the keys of the rule's lock on a node: all that exist, whatever their names,
// because no other rule uses the database.
func (c *trial) keysOf(n *node) []string {
	if n.fake != nil {
		return slices.Sorted(maps.Keys(n.fake.Left()))
	}
	return n.admin.Keys(context.Background(), "*").Val()
}

// ends returns the remaining time of each key that has an expiry.
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

// numbers returns the numbers in a key: its value, under "", or the fields of a hash.
func (c *trial) numbers(n *node, key string) map[string]int64 {
	out := map[string]int64{}
	if v, err := n.admin.Get(context.Background(), key).Int64(); err == nil {
		out[""] = v
		return out
	}
	for field, text := range n.admin.HGetAll(context.Background(), key).Val() {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			out[field] = v
		}
	}
	return out
}

// pttl returns how long a key lasts: below zero for ever, 0 if there is none.
func (c *trial) pttl(n *node, key string) time.Duration {
	d := n.admin.PTTL(context.Background(), key).Val()
	if d == -2 {
		return 0
	}
	return d
}

func say(err error) string {
	if err == nil {
		return "nil"
	}
	return err.Error()
}

// outcome describes an error in terms of the interface: TryLock reports a refusal as false, not as
// an error.
func (cl *client) outcome(err error) string {
	switch {
	case err == nil:
		return "granted"
	case errors.Is(err, impls.ErrBusy):
		return "refused"
	}
	return say(err)
}

// refusal reports whether an error of a try means that another client holds the lock. A lock with
// its own errors may use any but those of the Redis client, of a connection or of a context's end.
func (cl *client) refusal(err error) bool {
	if err == nil || errors.Is(err, impls.ErrBusy) {
		return err != nil
	}
	var reply redis.Error
	fromServer := errors.As(err, &reply) && !errors.Is(err, redis.Nil)
	return !cl.c.cfg.Variant && !errors.Is(err, impls.ErrUnavailable) && !impls.ConnectionFailed(err) && !fromServer
}

// saysBusy reports whether a lock states that another client holds it: TryLock returned false, or
// the error is ErrBusy. The error of a Lock that gave up states nothing.
func (cl *client) saysBusy(err error) bool {
	return errors.Is(err, impls.ErrBusy) && (cl.c.cfg.Variant || cl.c.cfg.Tries)
}
