package locktest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// world is where rules are checked.
type world string

const (
	virtual     world = "virtual"      // miniredis in a testing/synctest bubble
	wall        world = "wall"         // miniredis in real time
	redisServer world = "redis-server" // redis-server in real time
)

// job is what a worker is asked to do.
type job struct {
	Test    string     `json:"test"` // its full name
	World   world      `json:"world"`
	Rules   []string   `json:"rules,omitempty"`
	Patient int        `json:"patient"` // factor on the limits of real time
	Servers [][]string `json:"servers,omitempty"`
	Blind   bool       `json:"blind,omitempty"` // the lock is not to be looked at before the rules: that did not end well
	Explore bool       `json:"explore,omitempty"`
}

// result is what came out of one rule.
type result struct {
	Rule     string   `json:"rule"`
	Skip     string   `json:"skip,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Unjudged string   `json:"unjudged,omitempty"`
	Log      []string `json:"log,omitempty"`

	hung     bool
	realTime bool
}

// message is one line of what a worker tells.
type message struct {
	Begin  string  `json:"begin,omitempty"`  // a rule
	Result *result `json:"result,omitempty"` //
	Hung   string  `json:"hung,omitempty"`   // a rule that does not end
	Stack  string  `json:"stack,omitempty"`  // of it
	Fatal  string  `json:"fatal,omitempty"`  // the lock cannot be tried at all
	Real   string  `json:"real,omitempty"`   // the lock cannot be tried in virtual time, and why
	Leave  bool    `json:"leave,omitempty"`  // the process cannot go on and is to be replaced
	Done   bool    `json:"done,omitempty"`
}

const (
	jobEnv = "LOCKBENCH_LOCKTEST_JOB"
	mark   = "##locktest " // before each message on the worker's standard output
)

// workerJob is what this process is to do as a worker; nil when it is the test itself.
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

// teller writes messages.
type teller struct {
	mu  sync.Mutex // rules end at once
	out func(message)
}

func (s *teller) tell(m message) {
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

// work is a worker's life.
func (cfg config) work(t *testing.T, newLock factory, j job) {
	cfg.checkRules(t, newLock, j, &teller{out: toParent})
}

// limits of real time, before a rule is taken to hang.
const (
	virtualLimit = 5 * time.Second // a rule takes some hundredths of a second
	moreLooks    = 8               // times that, while requests go on
	leaveLimit   = 2 * time.Second // for a bubble to end when its rule has
	realLimit    = 40              // leases, which is more than any rule waits
)

// checkRules checks the job's rules and tells of each.
func (cfg config) checkRules(t *testing.T, newLock factory, j job, tell *teller) {
	if j.World != virtual {
		cfg.lease = cfg.real
	}
	var chosen []rule
	for _, r := range rules() {
		if slices.Contains(j.Rules, r.name) {
			chosen = append(chosen, r)
		}
	}
	in := &inspector{t: t, cfg: cfg, make: cfg.maker(newLock), job: j, tell: tell}
	if !in.acquaint(newLock) {
		return
	}
	var applying []rule
	for _, r := range chosen {
		if why := r.why(in.cfg); why != "" {
			tell.tell(message{Result: &result{Rule: r.name, Skip: why}})
			continue
		}
		applying = append(applying, r)
	}
	if j.World == virtual {
		for _, r := range applying {
			if !in.virtually(r) {
				tell.tell(message{Leave: true})
				return
			}
		}
	} else {
		in.together(applying)
	}
	tell.tell(message{Done: true})
}

func (r rule) why(cfg config) string {
	if r.needs == nil {
		return ""
	}
	return r.needs(cfg)
}

// inspector checks rules one after the other or all at once.
type inspector struct {
	t    *testing.T
	cfg  config
	make maker
	job  job
	tell *teller
}

// acquaintance is what comes before the rules, under a name like theirs.
const acquaintance = "acquaintance"

// acquaint finds out what the lock can do. It is false when there is nothing more to do in this world.
func (in *inspector) acquaint(newLock factory) bool {
	var told message
	meet := func(c *trial) {
		cl := c.bare("first")
		var err error
		cl.do("constructor", func() { in.cfg, err = in.cfg.shape(newLock, cl.env) })
		if err != nil {
			told.Fatal = err.Error()
			return
		}
		c.cfg = in.cfg
		if !in.cfg.variant && !in.job.Blind {
			told = c.observe(&in.cfg)
		}
	}
	r := rule{name: acquaintance, check: meet}
	ended := true
	in.tell.tell(message{Begin: r.name})
	if in.job.World == virtual {
		ended = in.inBubble(r, func(result) {})
	} else {
		in.inRealTime(r, in.nodes(), 0, func(res result) {
			if len(res.Problems) > 0 {
				told.Fatal = strings.Join(res.Problems, "\n")
			}
		})
	}
	if told.Fatal != "" || told.Real != "" {
		in.tell.tell(told)
		return false
	}
	if !ended {
		in.tell.tell(message{Leave: true})
	}
	return ended
}

// virtually checks a rule in a bubble of its own. It is false when the bubble does not end.
func (in *inspector) virtually(r rule) bool {
	in.tell.tell(message{Begin: r.name})
	return in.inBubble(r, func(res result) { in.tell.tell(message{Result: &res}) })
}

// inBubble runs a rule in virtual time, while a watch of real time looks on.
func (in *inspector) inBubble(r rule, ended func(result)) bool {
	id := in.t.Name() + "/" + r.name
	judged, over := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(judged) })
	left := make(chan bool, 1)
	var log atomic.Pointer[requestLog]
	go func() { left <- in.watch(r, &log, judged, over) }()
	func() {
		defer close(over)
		defer func() {
			if p := recover(); p != nil && !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
				ended(result{Rule: r.name, Problems: []string{fmt.Sprintf("panic: %v\n%s", p, stack())}})
			}
		}()
		synctest.Test(in.t, func(t *testing.T) {
			c := newTrial(id, in.make, in.cfg, virtualNodes(t, in.cfg.nodes))
			log.Store(c.log)
			c.run(r, func(res result) { ended(res); once() })
		})
	}()
	return !<-left
}

// watch looks whether a rule, and then its bubble, ends in time. It is true when it does not. A rule whose lock goes on sending requests has more
// time: the machine may be busy.
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
			if l := log.Load(); l != nil && l.total.Load() > seen && looks < moreLooks {
				seen = l.total.Load()
				continue
			}
			in.tell.tell(message{Hung: r.name, Stack: goroutines(labelTrial, in.t.Name()+"/"+r.name)})
			return true
		}
	}
	linger := time.NewTimer(leaveLimit)
	defer linger.Stop()
	select {
	case <-over:
		return false
	case <-linger.C:
		in.tell.tell(message{Leave: true})
		return true
	}
}

// nodes are those of the job's world, for a rule or for all.
func (in *inspector) nodes() []*node {
	if in.job.World == redisServer {
		return realNodes(in.t, in.job.Servers)
	}
	return virtualNodes(in.t, in.cfg.nodes)
}

// together checks all rules at once in real time, for they mostly sleep, and then one by one those that disturb others.
func (in *inspector) together(all []rule) {
	nodes := in.nodes()
	var checking sync.WaitGroup
	check := func(r rule, db int) {
		in.tell.tell(message{Begin: r.name})
		own := nodes
		if in.job.World == wall {
			own = in.nodes()
		}
		in.inRealTime(r, own, db, func(res result) { in.tell.tell(message{Result: &res}) })
	}
	db := 0
	for _, r := range all {
		if disturbing[r.name] {
			continue
		}
		db++
		own := db // each rule has a database of its own, whenever it begins
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

// disturbing are rules that make a server forget what the other rules' clients count on.
var disturbing = map[string]bool{"scripts-forgotten": true, "release-frees": true}

// inRealTime runs a rule for as long as it may take.
func (in *inspector) inRealTime(r rule, nodes []*node, db int, ended func(result)) {
	id := in.t.Name() + "/" + r.name
	c := newTrial(id, in.make, in.cfg, nodes)
	c.slack = realSlack
	if in.job.World == redisServer {
		c.db, c.key = db, fmt.Sprint(keyName, "-", db)
		c.empty()
	}
	over := make(chan struct{})
	once := sync.OnceFunc(func() { close(over) })
	go func() {
		defer once()
		c.run(r, func(res result) { ended(res); once() })
	}()
	limit := time.NewTimer(realLimit*in.cfg.lease*time.Duration(in.job.Patient) + virtualLimit)
	defer limit.Stop()
	select {
	case <-over:
	case <-limit.C:
		in.tell.tell(message{Hung: r.name, Stack: goroutines(labelTrial, id)})
	}
}
