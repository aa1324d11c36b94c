package planted

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/verdicts"
)

// mutant is a bug and how it is planted. All of the ways are optional.
type mutant struct {
	name   string
	bug    string // one sentence
	report string // the public report that it follows
	edits  []edit
	detour func(env impls.Env, next redis.UniversalClient) redis.UniversalClient
	lie    func(env impls.Env, honest impls.Lock) impls.Lock
	env    func(env *impls.Env)
	traits func(t *impls.Traits)
	loose  bool   // the store that compares fences has the bug
	in     string // the scenario that must show it
	shows  string // by what: "property/cause", or "property" where the cause may be any
}

// edit changes one script in one place.
type edit struct{ script, old, new string }

// plant makes the variant of a mutant of a correct one.
func (m mutant) plant(of impls.Variant) impls.Variant {
	out := of
	out.Name, out.Summary = "bug-"+m.name, m.bug
	out.Planted = &impls.Planted{Of: of.Name, Bug: m.bug, Report: m.report, LooseStore: m.loose}
	out.Claims, out.Expect = nil, map[string]verdicts.Expectation{m.in: verdicts.Breaks(m.shows)}
	if m.traits != nil {
		m.traits(&out.Traits)
	}
	changed, err := apply(m.name, of.Scripts, m.edits)
	out.Scripts = slices.Clone(of.Scripts)
	for i, s := range out.Scripts {
		if c, ok := changed[s.Digest()]; ok {
			out.Scripts[i] = c
		}
	}
	out.New = func(env impls.Env) (impls.Lock, error) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", out.Name, err)
		}
		if m.env != nil {
			m.env(&env)
		}
		nodes := make([]redis.UniversalClient, len(env.Nodes))
		for i, n := range env.Nodes {
			nodes[i] = rewriting{n, changed}
			if m.detour != nil {
				nodes[i] = m.detour(env, nodes[i])
			}
		}
		env.Nodes = nodes
		honest, err := of.New(env)
		if err != nil || m.lie == nil {
			return honest, err
		}
		return m.lie(env, honest), nil
	}
	return out
}

// apply makes the changed scripts, by the digest of the script that each replaces. An edit that
// fits nothing, or more than once, is an error: the mutant would be the correct lock, or another
// bug than it says.
func apply(bug string, from []*impls.Script, edits []edit) (map[string]*impls.Script, error) {
	text := map[string]string{}
	for _, e := range edits {
		s := find(from, e.script)
		if s == nil {
			return nil, fmt.Errorf("no script %s", e.script)
		}
		now, begun := text[e.script]
		if !begun {
			now = s.Source
		}
		if n := strings.Count(now, e.old); n != 1 {
			return nil, fmt.Errorf("%s has %q %d times, want once", e.script, e.old, n)
		}
		text[e.script] = strings.Replace(now, e.old, e.new, 1)
	}
	changed := map[string]*impls.Script{}
	for name, source := range text {
		own := "bug_" + strings.ReplaceAll(bug, "-", "_") + "_" + name
		s, instead := find(from, name), impls.NewScript(own, strings.Replace(source, "-- name: "+name, "-- name: "+own, 1))
		changed[s.Millis().Digest()] = instead.Millis()
		changed[s.Digest()] = instead // last: a script without a lease is its own other form
	}
	return changed, nil
}

func find(in []*impls.Script, name string) *impls.Script {
	for _, s := range in {
		if s.Name == name {
			return s
		}
	}
	return nil
}
