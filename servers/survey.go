package servers

import (
	"context"
	"errors"
	"slices"

	"github.com/lockbench/lockbench/impls"
)

// What a provider may be able to do. The topologies are named as in impls, the faults as in the fault vocabulary.
const (
	CanServe       = "serve" // bring up or reach servers at all; Detail says what was found
	CanKill        = "kill-server"
	CanPause       = "pause-server"
	CanFailover    = "failover"
	CanJumpClock   = "jump-clock"
	CanDriftClock  = "drift-clock"
	CanFlush       = "flush-scripts"
	CanDelete      = "delete-key"
	CanEvict       = "evict-keys"
	CanPersist     = "persistence"
	CanLimitMemory = "max-memory"
)

// Capability is one thing that a provider can or cannot do on this machine, for people to read and for a run to check
// before it begins.
type Capability struct {
	Provider string `json:"provider"`
	Ability  string `json:"ability"`
	OK       bool   `json:"ok"`
	Detail   string `json:"detail,omitempty"`  // what was found: versions, places
	Reason   string `json:"reason,omitempty"`  // when not OK: what is missing and how to get it, or why it is refused
	Refused  bool   `json:"refused,omitempty"` // when not OK: nothing that could be installed would change it
}

// surveyor is a provider that knows more of itself than whether it is available.
type surveyor interface {
	Provider
	// found describes what there is, and says what is missing, without changing the machine.
	found(ctx context.Context) (string, error)
	// ability says why servers that can be reached do not offer one thing; nil when they do.
	ability(ctx context.Context, name string) error
}

// describer is a provider of another room that says in a sentence what it can do.
type describer interface{ Describe() string }

// Abilities lists all that a survey asks for, in the order of its answer.
func Abilities() []string {
	return []string{
		CanServe, string(impls.Standalone), string(impls.Replicated), string(impls.Independent), string(impls.Cluster),
		CanPersist, CanLimitMemory, CanKill, CanPause, CanFailover, CanJumpClock, CanDriftClock, CanFlush, CanDelete, CanEvict,
	}
}

// Survey asks each provider for every ability. It starts no server and downloads nothing.
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

// survey asks one provider. What cannot serve has no other ability, for the same reason.
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

// capability writes an answer down.
func capability(p Provider, name, detail string, err error) Capability {
	c := Capability{Provider: p.Name(), Ability: name, OK: err == nil, Detail: detail}
	if err != nil {
		c.Reason, c.Refused = err.Error(), errors.Is(err, ErrRefused)
	}
	return c
}

// isClock says whether an ability needs the clock shim.
func isClock(name string) bool { return name == CanJumpClock || name == CanDriftClock }

// only refuses every ability but those named.
func (r refuser) only(name string, able ...string) error {
	if slices.Contains(able, name) {
		return nil
	}
	return r.refuse(name)
}
