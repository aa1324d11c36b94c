package locktest

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// world is the environment in which rules are checked.
type world string

const (
	virtual     world = "virtual"      // miniredis in a testing/synctest bubble
	wall        world = "wall"         // miniredis in real time
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
	Explore bool       `json:"explore,omitempty"`
}

// result is the result of one rule.
type result struct {
	Rule     string   `json:"rule"`
	Skip     string   `json:"skip,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Unjudged string   `json:"unjudged,omitempty"`
	Log      []string `json:"log,omitempty"`
	Hangs    bool     `json:"hangs,omitempty"` // a call did not return: that is no race, and is not tried again

	hung     bool
	realTime bool
}

// message is one line of a worker's output.
type message struct {
	Begin  string  `json:"begin,omitempty"`  // a rule that starts
	Result *result `json:"result,omitempty"` //
	Hung   string  `json:"hung,omitempty"`   // a rule that does not end
	Stack  string  `json:"stack,omitempty"`  // of that rule
	Seen   *seen   `json:"seen,omitempty"`   // before the first rule
	Fatal  string  `json:"fatal,omitempty"`  // the lock can't be tested at all
	Real   string  `json:"real,omitempty"`   // why the lock can't be tested in virtual time
	Leave  bool    `json:"leave,omitempty"`  // the process can't continue and must be replaced
	Done   bool    `json:"done,omitempty"`
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

// endWithParent ends a worker whose parent has ended, and with it the worker's input. It ends the process, because a rule that hangs can't be ended
// otherwise and nobody is left to do it.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// sender writes messages.
type sender struct {
	mu  sync.Mutex // rules end concurrently
	out func(message)
}

func (s *sender) send(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.out(m)
}

// toParent writes messages for the process that started this one.
func toParent(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		text, _ = json.Marshal(message{Fatal: err.Error()})
	}
	fmt.Fprintf(os.Stdout, "\n%s%s\n", mark, text)
}

// limits in real time, after which a rule counts as hung.
const (
	virtualLimit = 5 * time.Second // a rule takes some tens of milliseconds
	moreTime     = 8               // that many times longer, while requests go on
	leaveLimit   = 2 * time.Second // for a bubble to end after its rule has
	realLimit    = 40              // leases: more than any rule waits
)

// checkRules checks the job's rules and reports each.
func (cfg config) checkRules(t *testing.T, newLock factory, j job, out *sender) {
	if j.World != virtual {
		cfg.lease = cfg.real
	}
	var chosen []rule
	for _, r := range rules() {
		if slices.Contains(j.Rules, r.name) {
			chosen = append(chosen, r)
		}
	}
	in := &inspector{t: t, cfg: cfg, make: cfg.maker(newLock), job: j, out: out}
	if !in.detect(newLock) {
		return
	}
	var applying []rule
	for _, r := range chosen {
		if why := r.why(in.cfg); why != "" {
			out.send(message{Result: &result{Rule: r.name, Skip: why}})
			continue
		}
		applying = append(applying, r)
	}
	if j.World == virtual {
		for _, r := range applying {
			out.send(message{Begin: r.name})
			if !in.inBubble(r, func(res result) { out.send(message{Result: &res}) }) {
				out.send(message{Leave: true})
				return
			}
		}
	} else {
		in.together(applying)
	}
	out.send(message{Done: true})
}

func (r rule) why(cfg config) string {
	if r.needs == nil {
		return ""
	}
	return r.needs(cfg)
}

// inspector checks rules one after the other, or all at once.
type inspector struct {
	t    *testing.T
	cfg  config
	make maker
	job  job
	out  *sender
}

// detection is the step before the rules, which is reported like one.
const detection = "detection"

// detect finds out what the lock can do, once for all processes, and reports it. It returns false if nothing more can be checked here.
func (in *inspector) detect(newLock factory) bool {
	if in.job.Seen != nil {
		in.cfg.seen = *in.job.Seen
		return true
	}
	var problems []string
	going := true
	tell := func(m message) {
		going = going && m.Fatal == "" && m.Real == ""
		in.out.send(m)
	}
	r := rule{name: detection, check: func(c *trial) {
		c.look(newLock, tell)
		in.cfg = c.cfg
	}}
	ended := func(res result) { problems = res.Problems }
	in.out.send(message{Begin: r.name})
	whole := true
	if in.job.World == virtual {
		whole = in.inBubble(r, ended)
	} else {
		in.inRealTime(r, 0, ended)
		if going && len(problems) > 0 {
			tell(message{Fatal: strings.Join(problems, "\n")})
		}
	}
	if going && !whole {
		in.out.send(message{Leave: true})
	}
	return going && whole
}

// inBubble runs a rule in virtual time while watch checks it in real time. It returns false if goroutines of the rule are left, which will never run
// again: a lock that shares them among all its objects would not work in this process any more.
func (in *inspector) inBubble(r rule, ended func(result)) bool {
	id := in.t.Name() + "/" + r.name
	judged, over := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(judged) })
	left := make(chan bool, 1)
	var log atomic.Pointer[requestLog]
	whole := true
	go func() { left <- in.watch(r, &log, judged, over) }()
	emptyPools()
	func() {
		defer close(over)
		defer func() {
			p := recover()
			whole = p == nil
			if p != nil && !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
				ended(result{Rule: r.name, Problems: []string{fmt.Sprintf("panic: %v\n%s", p, stack())}})
			}
		}()
		synctest.Test(in.t, func(t *testing.T) {
			c := newTrial(id, in.make, in.cfg, virtualNodes(t, in.cfg.nodes))
			log.Store(c.log)
			c.run(r, func(res result) { ended(res); once() })
		})
	}()
	return !<-left && whole
}

// emptyPools empties every sync.Pool of the process. A library keeps there what its next user may take, such as a timer; one that was made in another
// bubble ends the process. A collection moves what is in a pool aside, and the next one drops it.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// watch returns true if a rule, or afterwards its bubble, does not end in time. A rule whose lock keeps sending requests gets more time: the machine
// may be busy.
func (in *inspector) watch(r rule, log *atomic.Pointer[requestLog], judged, over <-chan struct{}) bool {
	limit := time.NewTicker(virtualLimit * time.Duration(in.job.Patient))
	defer limit.Stop()
	seen := int64(0)
	for looks, going := 0, true; going; looks++ {
		select {
		case <-over:
			return false
		case <-judged:
			going = false
		case <-limit.C:
			if l := log.Load(); l != nil && l.total.Load() > seen && looks < moreTime {
				seen = l.total.Load()
				continue
			}
			in.out.send(message{Hung: r.name, Stack: goroutines(labelTrial, in.t.Name()+"/"+r.name)})
			return true
		}
	}
	linger := time.NewTimer(leaveLimit)
	defer linger.Stop()
	select {
	case <-over:
		return false
	case <-linger.C:
		in.out.send(message{Leave: true})
		return true
	}
}

// together checks all rules at once in real time, because they mostly sleep, and then one by one those that disturb others.
func (in *inspector) together(all []rule) {
	var checking sync.WaitGroup
	check := func(r rule, db int) {
		in.out.send(message{Begin: r.name})
		in.inRealTime(r, db, func(res result) { in.out.send(message{Result: &res}) })
	}
	db := 0
	for _, r := range all {
		if disturbing[r.name] {
			continue
		}
		db++
		own := db
		checking.Go(func() { check(r, own) })
	}
	checking.Wait()
	for _, r := range all {
		if disturbing[r.name] {
			db++
			check(r, db)
		}
	}
}

// disturbing are rules that make a server forget what other rules' clients rely on.
var disturbing = map[string]bool{"scripts-forgotten": true, "release-frees": true}

// inRealTime runs a rule within the time limit: on miniredis of its own, or in its own database of the job's redis-servers.
func (in *inspector) inRealTime(r rule, db int, ended func(result)) {
	id := in.t.Name() + "/" + r.name
	c := newTrial(id, in.make, in.cfg, nil)
	c.slack = realSlack
	if in.job.World == redisServer {
		c.nodes, c.key = realNodes(in.t, in.job.Servers, db), fmt.Sprint(keyName, "-", db)
		c.empty()
	} else {
		c.nodes = virtualNodes(in.t, in.cfg.nodes)
	}
	over := make(chan struct{})
	once := sync.OnceFunc(func() { close(over) })
	limit := time.NewTimer(realLimit*in.cfg.lease*time.Duration(in.job.Patient) + virtualLimit) // detection changes cfg
	defer limit.Stop()
	go func() {
		defer once()
		c.run(r, func(res result) { ended(res); once() })
	}()
	select {
	case <-over:
	case <-limit.C:
		in.out.send(message{Hung: r.name, Stack: goroutines(labelTrial, id)})
	}
}
