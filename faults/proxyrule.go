package faults

import (
	"slices"
	"sync"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// Act is what a rule does to a request or a reply.
type Act string

// The acts.
const (
	Hold Act = "hold" // it, and what is behind it on its connection, waits until Rule.Wait returns
	Drop Act = "drop" // it vanishes, and the connection lives on
	Cut  Act = "cut"  // it vanishes, and the connection is cut
)

// Rule is what is done to single requests or replies.
type Rule struct {
	Client string // "" means every client
	Node   int    // from 1; 0 means every node
	// Request or Reply names the operation and the command, as in Trigger: exactly one is set. A reply to "*w" counts only when it
	// does not say that nothing was written.
	Request, Reply string
	Key            string // the first key of the command; "" means any
	Nth            int    // which match, counted from 1 over all that the rule concerns; 0 means 1
	Times          int    // how many matches from then on; 0 means one, negative means all
	Do             Act
	// NilGrants tells that a script of the lock answers nil when it did write.
	NilGrants bool
	// Wait returns when a held request or reply may go on; at the latest when done is closed, because the connection has ended.
	Wait func(done <-chan struct{})
	// Struck, when set, is told when the act is done. It is called in the goroutine that carries the connection.
	Struck func(Strike)
}

// Strike is one request or reply that a rule was applied to. Times are nanoseconds on the run's base.
type Strike struct {
	Client  string
	Node    int // from 0
	Command history.Command
	Start   int64
	End     int64
}

// rule is a Rule in force.
type rule struct {
	Rule
	on    Pattern
	mu    sync.Mutex // protects what follows
	seen  int
	times int // strikes still to come; negative is no limit
}

// Add puts a rule in force; remove ends it, and may be called more than once.
func (p *Proxy) Add(r Rule) (remove func()) {
	own := &rule{Rule: r, on: ParsePattern(r.Request + r.Reply), times: r.Times}
	if own.times == 0 {
		own.times = 1
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rules = append(p.rules, own)
	p.refresh()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.rules = slices.DeleteFunc(p.rules, func(x *rule) bool { return x == own })
		p.refresh()
	}
}

func (r *rule) concerns(l *Link) bool {
	return (r.Client == "" || r.Client == l.Client) && (r.Node == 0 || r.Node == l.Node+1)
}

// fits tells a request that the rule, or the rule for its reply, means.
func (r *rule) fits(req resp.Request, phase Phase) bool {
	cmd := history.Command{Name: req.Name()}
	return (r.Key == "" || r.Key == string(req.Key())) && r.on.Matches(phase, &cmd, req.IsWrite())
}

// due counts a match, and tells whether the rule strikes it.
func (r *rule) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	if r.times == 0 || r.seen < r.Nth {
		return false
	}
	if r.times > 0 {
		r.times--
	}
	return true
}

// due lists the rules that strike a frame. Every rule counts its matches, whatever the others do to the frame.
func due(rules []*rule, matches func(*rule) bool) (strike []*rule) {
	for _, r := range rules {
		if matches(r) && r.due() {
			strike = append(strike, r)
		}
	}
	return strike
}
