package servers

import (
	"context"
	"errors"

	"github.com/lockbench/lockbench/impls"
)

// CanServe is the ability to start or reach servers.
const CanServe = "serve"

// Ability is something that scenarios ask of a provider.
type Ability struct {
	Name  string
	Clock bool // it takes servers whose clocks can be set
	Own   bool // it would harm a Redis that is not the run's own
}

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
	ability(ctx context.Context, a Ability) error
}

type describer interface{ Describe() string }

// abilities returns the abilities in the order of Survey's result.
func abilities(faults []Ability) []Ability {
	all := []Ability{{Name: CanServe}}
	for _, t := range impls.Topologies() {
		all = append(all, Ability{Name: string(t), Own: t != impls.Standalone && t != impls.Independent})
	}
	all = append(all, Ability{Name: "persistence", Own: true}, Ability{Name: "max-memory", Own: true})
	return append(all, faults...)
}

// Survey checks every ability of each provider: to serve, the topologies, the settings of servers,
// and their faults. It starts no server and downloads nothing.
func Survey(ctx context.Context, faults []Ability, providers ...Provider) []Capability {
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
		all = append(all, survey(ctx, s, faults)...)
	}
	return all
}

// survey checks one provider. One that cannot serve lacks the other abilities for the same reason.
func survey(ctx context.Context, s surveyor, faults []Ability) []Capability {
	detail, missing := s.found(ctx)
	var all []Capability
	for _, a := range abilities(faults) {
		switch {
		case a.Name == CanServe:
			all = append(all, capability(s, a.Name, detail, missing))
		case missing != nil:
			all = append(all, capability(s, a.Name, "", missing))
		default:
			all = append(all, capability(s, a.Name, "", s.ability(ctx, a)))
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
