package servers

import (
	"context"
	"errors"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// CanServe is the ability to start or reach servers; the others are the topologies of impls, what
// Abilities adds, and the faults of servers.
const CanServe = "serve"

// Capability is one ability that a provider has or lacks on this machine.
type Capability struct {
	Provider string `json:"provider"`
	Ability  string `json:"ability"`
	OK       bool   `json:"ok"`
	Detail   string `json:"detail,omitempty"`  // what was found: versions, paths
	Reason   string `json:"reason,omitempty"`  // if not OK: what is missing and how to get it, or why it is refused
	Refused  bool   `json:"refused,omitempty"` // if not OK: installing something does not help
}

// surveyor is a provider that can describe its abilities.
type surveyor interface {
	Provider
	// found describes the servers, or returns what is missing, without changing the machine.
	found(ctx context.Context) (string, error)
	// ability returns why reachable servers lack an ability; nil if they have it.
	ability(ctx context.Context, name string) error
}

type describer interface{ Describe() string }

// Abilities returns the abilities in the order of Survey's result.
func Abilities() []string {
	all := []string{CanServe}
	for _, t := range impls.Topologies() {
		all = append(all, string(t))
	}
	all = append(all, "persistence", "max-memory")
	return append(all, faults.Names(func(k faults.Kind) bool { return k.In == faults.InServer })...)
}

// Survey checks every ability of each provider. It starts no server and downloads nothing.
func Survey(ctx context.Context, providers ...Provider) []Capability {
	var all []Capability
	for _, p := range providers {
		s, ok := p.(surveyor)
		if !ok {
			err := p.Available(ctx)
			detail := ""
			if d, ok := p.(describer); ok {
				detail = d.Describe()
			}
			all = append(all, capability(p, CanServe, detail, err))
			continue
		}
		all = append(all, survey(ctx, s)...)
	}
	return all
}

// survey checks one provider. One that cannot serve lacks the other abilities for the same reason.
func survey(ctx context.Context, s surveyor) []Capability {
	detail, missing := s.found(ctx)
	var all []Capability
	for _, name := range Abilities() {
		switch {
		case name == CanServe:
			all = append(all, capability(s, name, detail, missing))
		case missing != nil:
			all = append(all, capability(s, name, "", missing))
		default:
			all = append(all, capability(s, name, "", s.ability(ctx, name)))
		}
	}
	return all
}

func capability(p Provider, name, detail string, err error) Capability {
	c := Capability{Provider: p.Name(), Ability: name, OK: err == nil, Detail: detail}
	if err != nil {
		c.Reason, c.Refused = err.Error(), errors.Is(err, ErrRefused)
	}
	return c
}

// isClock reports whether an ability is a fault of clocks.
func isClock(name string) bool {
	kind, _ := faults.FindKind(name)
	return kind.Clock
}
