package locktest

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/lockbench/lockbench/impls"
)

// Rule is one sentence that a lock must keep.
type Rule struct {
	Name     string
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
	t.Run("virtual", func(t *testing.T) {
		for _, r := range cfg.rules() {
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				cfg.applies(t, r)
				synctest.Test(t, func(t *testing.T) { cfg.judge(t, r, newC(t, newLock, cfg, virtualNodes(t, cfg.nodes))) })
			})
		}
	})
	if cfg.real {
		t.Run("redis-server", func(t *testing.T) { cfg.onRedisServer(t, newLock) })
	}
}

func (cfg config) onRedisServer(t *testing.T, newLock New) {
	servers := realNodes(t, cfg.nodes)
	cfg.lease = RealLease
	for _, r := range cfg.rules() {
		t.Run(r.Name, func(t *testing.T) {
			cfg.applies(t, r)
			c := newC(t, newLock, cfg, servers)
			c.slack = realSlack
			cfg.judge(t, r, c)
		})
	}
}

// judge runs one rule and holds what it found against what is expected.
func (cfg config) judge(t *testing.T, r Rule, c *C) {
	t.Helper()
	problems := c.run(r)
	switch {
	case len(problems) > 0 && (cfg.breaks[r.Name] || cfg.may[r.Name]):
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
