package locktest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/lockbench/lockbench/impls"
)

// Rule is one sentence that a lock must keep.
type Rule struct {
	Name string
	// Cases are the numbers in Cases() of what the rule covers, such as "C2 C25".
	Cases    string
	Sentence string
	// Needs says why the rule does not apply to a lock with these traits; "" when it does.
	Needs func(t impls.Traits) string
	check func(c *C)
}

// Run checks the rules that apply to the lock, one subtest for each.
func Run(t *testing.T, newLock New, options ...Option) {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	if cfg.replicas == 0 && !cfg.noVirtual { // miniredis has no replicas
		t.Run("virtual", func(t *testing.T) { cfg.inVirtualTime(t, newLock) })
	}
	if cfg.real {
		t.Run("redis-server", func(t *testing.T) { cfg.onRedisServer(t, newLock) })
	}
}

func (cfg config) inVirtualTime(t *testing.T, newLock New) {
	for _, r := range cfg.rules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			cfg.applies(t, r)
			synctest.Test(t, func(t *testing.T) {
				cfg.judge(t, r, newC(t.Name(), newLock, cfg, virtualNodes(t, cfg.nodes)).run(r))
			})
		})
	}
}

// looksAlone is how often a rule that did not come out as expected in real time is looked at again.
const looksAlone = 3

// onRedisServer checks all rules at once, for they mostly sleep. What then is not as expected is checked again by itself: on a busy
// machine an instant may be missed, and a lock that breaks its word breaks it each time.
func (cfg config) onRedisServer(t *testing.T, newLock New) {
	servers := realNodes(t, cfg)
	cfg.lease = RealLease
	cfg.supported(t, newLock, servers)
	check := func(name string, r Rule) []string {
		c := newC(name, newLock, cfg, servers)
		c.slack = realSlack
		return c.run(r)
	}
	found := cfg.together(t.Name(), check)
	for _, r := range cfg.rules() {
		t.Run(r.Name, func(t *testing.T) {
			cfg.applies(t, r)
			problems, checked := found[r.Name]
			for n := 1; n <= looksAlone && (!checked || !cfg.expected(r, problems)); n++ {
				problems, checked = check(fmt.Sprint(t.Name(), "/alone", n), r), true
			}
			cfg.judge(t, r, problems)
		})
	}
}

// supported skips the test of a lock that needs what the server has not.
func (cfg config) supported(t *testing.T, newLock New, servers []*node) {
	t.Helper()
	c := newC(t.Name(), newLock, cfg, servers)
	cl, err := c.open("first")
	if err == nil {
		defer cl.close()
		if _, err = cl.try(exclusive); err == nil {
			_ = cl.release()
		}
	}
	if errors.Is(err, impls.ErrUnsupported) {
		t.Skipf("redis-server cannot: %v", err)
	}
}

// together checks the rules that apply and leave the server to the others, and gives what each found wrong.
func (cfg config) together(test string, check func(name string, r Rule) []string) map[string][]string {
	var mu sync.Mutex // protects found
	found := map[string][]string{}
	var checking sync.WaitGroup
	for _, r := range cfg.rules() {
		if r.Name == forgetting || r.Needs != nil && r.Needs(cfg.traits) != "" {
			continue
		}
		checking.Go(func() {
			problems := check(test+"/"+r.Name, r)
			mu.Lock()
			defer mu.Unlock()
			found[r.Name] = problems
		})
	}
	checking.Wait()
	return found
}

// forgetting is the rule that makes a server forget what the other rules' clients count on.
const forgetting = "scripts-forgotten"

// expected tells whether a rule came out as it was said to.
func (cfg config) expected(r Rule, problems []string) bool {
	if len(problems) > 0 {
		return cfg.breaks[r.Name] || cfg.may[r.Name]
	}
	return !cfg.breaks[r.Name]
}

// judge holds what a rule found wrong against what is expected.
func (cfg config) judge(t *testing.T, r Rule, problems []string) {
	t.Helper()
	switch {
	case cfg.expected(r, problems) && len(problems) > 0:
		t.Logf("broken, as expected: %s\n\t%s", r.Sentence, strings.Join(problems, "\n\t"))
	case len(problems) > 0:
		t.Errorf("broken: %s\n\t%s", r.Sentence, strings.Join(problems, "\n\t"))
	case cfg.breaks[r.Name]:
		t.Errorf("expected to be broken, and was kept: %s", r.Sentence)
	}
}

// known fails on a name that is no rule: a misspelt expectation would expect nothing.
func (cfg config) known(t *testing.T) {
	t.Helper()
	names := map[string]bool{}
	for _, r := range Rules() {
		names[r.Name] = true
	}
	for _, set := range []map[string]bool{cfg.breaks, cfg.may, cfg.only} {
		for n := range set {
			if !names[n] {
				t.Fatalf("there is no rule %q", n)
			}
		}
	}
}

func (cfg config) rules() []Rule {
	var out []Rule
	for _, r := range Rules() {
		if len(cfg.only) == 0 || cfg.only[r.Name] {
			out = append(out, r)
		}
	}
	return out
}

func (cfg config) applies(t *testing.T, r Rule) {
	t.Helper()
	if r.Needs == nil {
		return
	}
	if why := r.Needs(cfg.traits); why != "" {
		t.Skipf("does not apply: %s", why)
	}
}
