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

// Survey checks every ability of each provider: to serve, the topologies, the settings of servers,
// and their faults. It starts no server and downloads nothing.
func Survey(ctx context.Context, faults []Ability, providers ...Provider) (all []Capability) {
	var abilities []Ability
	for _, t := range impls.Topologies() {
		abilities = append(abilities, Ability{Name: string(t), Own: t != impls.Standalone && t != impls.Independent})
	}
	abilities = append(abilities, Ability{Name: "persistence", Own: true}, Ability{Name: "max-memory", Own: true})
	abilities = append(abilities, faults...)
	for _, p := range providers {
		add := func(name, detail string, err error) {
			c := Capability{Provider: p.Name(), Ability: name, OK: err == nil, Detail: detail}
			if err != nil {
				c.Reason, c.Refused = err.Error(), errors.Is(err, ErrRefused)
			}
			all = append(all, c)
		}
		switch s := p.(type) {
		case surveyor:
			detail, missing := s.found(ctx)
			add(CanServe, detail, missing)
			for _, a := range abilities {
				err := missing // one that cannot serve lacks the other abilities for the same reason
				if err == nil {
					err = s.ability(ctx, a)
				}
				add(a.Name, "", err)
			}
		case interface{ Describe() string }:
			add(CanServe, s.Describe(), p.Available(ctx))
		default:
			add(CanServe, "", p.Available(ctx))
		}
	}
	return all
}
