package locktest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/upstream"
)

// world is the environment in which rules are checked.
type world string

const (
	virtual     world = "virtual"      // embedded servers in a testing/synctest bubble
	wall        world = "wall"         // embedded servers in real time
	redisServer world = "redis-server" // redis-server in real time
)

// job is the task of a worker.
type job struct {
	Test    string     `json:"test"` // the test's full name
	World   world      `json:"world"`
	Rules   []string   `json:"rules,omitempty"`
	Patient int        `json:"patient"` // factor on the limits in real time
	Servers [][]string `json:"servers,omitempty"`
	Seen    *seen      `json:"seen,omitempty"` // what an earlier process has seen; nil: look first
}

// result is the result of one rule.
type result struct {
	Rule     string        `json:"rule"`
	Skip     string        `json:"skip,omitempty"`
	Problems []string      `json:"problems,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
	Unjudged string        `json:"unjudged,omitempty"`
	Log      []string      `json:"log,omitempty"`
	Reached  history.Reach `json:"reached,omitempty"`
	Hangs    string        `json:"hangs,omitempty"` // the call that did not return: that is no race, and is not tried again
	Stack    string        `json:"stack,omitempty"` // of a rule that does not end
	Spins    bool          `json:"spins,omitempty"` // and in which the lock computes without end

	realTime bool
}

// message is one line of a worker's output.
type message struct {
	Begin  string  `json:"begin,omitempty"`  // a rule that starts
	Result *result `json:"result,omitempty"` // of a rule
	Seen   *seen   `json:"seen,omitempty"`   // before the first rule
	Fatal  string  `json:"fatal,omitempty"`  // the lock can't be tested at all
	Real   string  `json:"real,omitempty"`   // why the lock can't be tested in virtual time
	Skip   string  `json:"skip,omitempty"`   // why it can't be tested on the embedded server
	End    bool    `json:"end,omitempty"`    // all is said, or the process can't continue and must be replaced
}

const (
	jobEnv = "LOCKBENCH_LOCKTEST_JOB"
	mark   = "##locktest " // before each message on the worker's standard output
)

// workerJob returns the job of this process if it is a worker; nil if it is the test itself.
func workerJob(t *testing.T) *job {
	t.Helper()
	text := os.Getenv(jobEnv)
	if text == "" {
		return nil
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatalf("%s: %v", jobEnv, err)
	}
	return &j
}

// toParent writes a message for the process that started this one.
func toParent(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		text, _ = json.Marshal(message{Fatal: err.Error()})
	}
	fmt.Fprintf(os.Stdout, "\n%s%s\n", mark, text) // one write, whole
}

// limits in real time, after which a rule counts as hung.
const (
	virtualLimit = 5 * time.Second // a rule takes some tens of milliseconds
	moreTime     = 8               // that many times longer, while requests go on
	leaveLimit   = 2 * time.Second // for a bubble to end after its rule has
	realLimit    = 40              // leases: more than any rule waits
)

// checkRules checks the job's rules and tells of each.
func (cfg config) checkRules(t *testing.T, newLock factory, j job, tell func(message)) {
	if j.World != virtual {
		cfg.lease = cfg.real
	}
	in := &inspector{t: t, cfg: cfg, make: cfg.maker(newLock), job: j, tell: tell}
	if !in.detect(newLock) {
		return
	}
	var applying []rule
	for _, r := range rules() {
		why := ""
		if r.needs != nil {
			why = r.needs(in.cfg)
		}
		switch {
		case !slices.Contains(j.Rules, r.name):
		case why != "":
			tell(message{Result: &result{Rule: r.name, Skip: why}})
		default:
			applying = append(applying, r)
		}
	}
	if j.World != virtual {
		in.together(applying)
		applying = nil
	}
	for _, r := range applying {
		tell(message{Begin: r.name})
		if !in.inBubble(r, in.judged) {
			break
		}
	}
	tell(message{End: true})
}

// inspector checks rules one after the other, or all at once.
type inspector struct {
	t    *testing.T
	cfg  config
	make maker
	job  job
	tell func(message)
}

func (in *inspector) judged(res result) { in.tell(message{Result: &res}) }

// detection is the step before the rules, which is told of like one.
const detection = "detection"

// detect finds out what the lock can do, once for all processes, and tells it. It returns false if
// nothing more can be checked here.
func (in *inspector) detect(newLock factory) bool {
	if in.job.Seen != nil {
		in.cfg.seen = *in.job.Seen
		return true
	}
	var problems []string
	ended := func(res result) { problems = res.Problems }
	whole, going := true, true
	r := rule{name: detection, check: func(c *trial) {
		going = c.look(newLock, in.tell)
		in.cfg = c.cfg
	}}
	in.tell(message{Begin: r.name})
	if in.job.World == virtual {
		whole = in.inBubble(r, ended)
	} else if in.inRealTime(r, 0, ended); going && len(problems) > 0 {
		in.tell(message{Fatal: strings.Join(problems, "\n")})
		return false
	}
	if going && !whole {
		in.tell(message{End: true})
	}
	return going && whole
}

// bubble is what is known outside of a rule in virtual time.
type bubble struct {
	log    atomic.Pointer[requestLog]
	number atomic.Value  // as the runtime prints it
	judged chan struct{} // closed with the rule's result
	over   chan struct{} // closed when all its goroutines have ended
}

// inBubble runs a rule in virtual time while watch checks it in real time. It returns false if
// goroutines of the rule are left, which will never run again: a lock that shares them among all
// its objects would not work in this process any more.
func (in *inspector) inBubble(r rule, ended func(result)) (whole bool) {
	b := &bubble{judged: make(chan struct{}), over: make(chan struct{})}
	once := sync.OnceFunc(func() { close(b.judged) })
	ends := make(chan bool, 1)
	go func() { ends <- in.watch(r, b) }()
	// A library keeps in a sync.Pool what its next user may take, such as a timer; one that was
	// made in another bubble ends the process. A collection moves what is in a pool aside, and the
	// next one drops it.
	runtime.GC()
	runtime.GC()
	func() {
		defer close(b.over)
		defer func() {
			p := recover()
			whole = p == nil
			if p != nil && !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
				ended(result{Rule: r.name, Problems: []string{fmt.Sprintf("panic: %v\n%s", p, stack())}})
			}
		}()
		synctest.Test(in.t, func(t *testing.T) {
			c := newTrial(in.id(r), in.make, in.cfg, virtualNodes(t, in.cfg.nodes))
			b.log.Store(c.log)
			b.number.Store(upstream.OwnBubble())
			c.run(r, func(res result) { ended(res); once() })
		})
	}()
	return <-ends && whole
}

// id identifies a rule's goroutines in this process.
func (in *inspector) id(r rule) string { return in.t.Name() + "/" + r.name }

// watch returns false if a rule, or afterwards its bubble, does not end in time. A rule whose lock
// keeps sending requests gets more time: the machine may be busy.
func (in *inspector) watch(r rule, b *bubble) bool {
	limit := time.NewTicker(virtualLimit * time.Duration(in.job.Patient))
	defer limit.Stop()
	seen := int64(0)
	for looks, going := 0, true; going; looks++ {
		select {
		case <-b.over:
			return true
		case <-b.judged:
			going = false
		case <-limit.C:
			if l := b.log.Load(); l != nil && l.total.Load() > seen && looks < moreTime {
				seen = l.total.Load()
				continue
			}
			in.judged(result{Rule: r.name, Stack: cmp.Or(goroutines(labelTrial, in.id(r)), "(none)"), Spins: b.spins()})
			return false
		}
	}
	select {
	case <-b.over:
		return true
	case <-time.After(leaveLimit):
		in.tell(message{End: true})
		return false
	}
}

// spins reports whether a goroutine of the bubble computes all the time.
func (b *bubble) spins() bool {
	running := func() (numbers []string) {
		for _, g := range upstream.Goroutines(upstream.Dump()) {
			if g.Bubble == b.number.Load() && strings.HasPrefix(g.State, "run") {
				numbers = append(numbers, g.Number)
			}
		}
		return numbers
	}
	before := running()
	time.Sleep(100 * time.Millisecond)
	return slices.ContainsFunc(running(), func(n string) bool { return slices.Contains(before, n) })
}

// together checks all rules at once in real time, because they mostly sleep, and then one by one
// those that disturb others, unless a call of the lock did not return: to wait for it once more
// would cost time and show nothing.
func (in *inspector) together(all []rule) {
	var checking sync.WaitGroup
	var hangs atomic.Pointer[result]
	judged := func(res result) {
		if res.Hangs != "" {
			hangs.Store(&res)
		}
		in.judged(res)
	}
	for _, disturbs := range []bool{false, true} {
		for i, r := range all {
			if disturbing[r.name] != disturbs {
				continue
			}
			if h := hangs.Load(); h != nil && disturbs && !slices.Contains(in.cfg.breaks, r.name) {
				in.judged(result{Rule: r.name, Unjudged: fmt.Sprintf("not run: %s hangs (rule %s)", h.Hangs, h.Rule)})
				continue
			}
			in.tell(message{Begin: r.name})
			checking.Go(func() { in.inRealTime(r, i+1, judged) })
			if disturbs {
				checking.Wait()
			}
		}
		checking.Wait()
	}
}

// disturbing are rules that make a server forget what other rules' clients rely on.
var disturbing = map[string]bool{"scripts-forgotten": true, "release-frees": true}

// inRealTime runs a rule within the time limit: on embedded servers of its own, or in its own
// database of the job's redis-servers.
func (in *inspector) inRealTime(r rule, db int, ended func(result)) {
	c := newTrial(in.id(r), in.make, in.cfg, nil)
	c.slack = realSlack
	if in.job.World == redisServer {
		c.key = fmt.Sprint(keyName, "-", db)
		for _, group := range in.job.Servers {
			n := realNode(in.t, group[0], db)
			for _, replica := range group[1:] {
				n.replicas = append(n.replicas, realNode(in.t, replica, db))
			}
			c.nodes = append(c.nodes, n)
			// of what an earlier check left; the servers are the kit's own
			if err := n.admin.FlushDB(context.Background()).Err(); err != nil {
				c.note("empty the database of %s: %v", c.key, err)
			}
		}
	} else {
		c.nodes = virtualNodes(in.t, in.cfg.nodes)
	}
	over := make(chan struct{})
	once := sync.OnceFunc(func() { close(over) })
	limit := time.After(realLimit*in.cfg.lease*time.Duration(in.job.Patient) + virtualLimit) // detection changes cfg
	go func() {
		defer once()
		c.run(r, func(res result) { ended(res); once() })
	}()
	select {
	case <-over:
	case <-limit:
		in.judged(result{Rule: r.name, Stack: cmp.Or(goroutines(labelTrial, in.id(r)), "(none)")})
	}
}
