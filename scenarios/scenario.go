// Package scenarios reads scenarios: a workload, a topology and a plan of faults, as YAML.
//
// The built-in scenarios are embedded; users' scenarios are files of the same form. Loading is
// strict: an unknown field, a wrong type or a value out of range is an error with file, line,
// column, the source line and a caret.
//
// [Load] reads a scenario, [Scenario.With] applies --set, [Scenario.Resolve] turns it into a plan
// without open choices, and [Scenario.Hash] identifies the plan. A plan written by [Scenario.YAML]
// and loaded again is the same plan.
package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/workloads"
)

// Scenario is one scenario file. Spans may be given in leases.
type Scenario struct {
	Name     string         `yaml:"name" json:"name"`
	About    string         `yaml:"about" json:"about"` // one sentence: what it does and what that shows
	Workload string         `yaml:"workload" json:"workload"`
	Topology impls.Topology `yaml:"topology,omitempty" json:"topology,omitempty"` // "" means the lock's own
	// independent masters, 0 means 5; a primary and its replicas, 0 means 2; three masters of a
	// cluster and their replicas, 0 means 3
	Nodes int `yaml:"nodes,omitempty" json:"nodes,omitempty"`

	Clients int `yaml:"clients" json:"clients"`
	// rounds per client; 0 means until Duration
	Ops    int         `yaml:"ops,omitempty" json:"ops,omitempty"`
	Length faults.Span `yaml:"duration,omitempty" json:"duration,omitzero"` // 0 means until Ops are done
	WarmUp faults.Span `yaml:"warmup,omitempty" json:"warmup,omitzero"`     // before Length, not measured
	Lease  faults.Span `yaml:"lease" json:"lease"`                          // not in leases
	Think  faults.Span `yaml:"think,omitempty" json:"think,omitzero"`       // inside the critical section
	Pause  faults.Span `yaml:"pause,omitempty" json:"pause,omitzero"`       // between rounds
	Keep   faults.Span `yaml:"keep,omitempty" json:"keep,omitzero"`         // ticks: between work and release
	// deadline of an acquire; 0 means do not wait
	Wait faults.Span `yaml:"wait,omitempty" json:"wait,omitzero"`
	Poll faults.Span `yaml:"poll,omitempty" json:"poll,omitzero"` // interval of waiters that poll
	// rounds per second of all clients, open loop; 0 means closed loop
	Rate float64 `yaml:"rate,omitempty" json:"rate,omitempty"`
	// of an open loop: constant (""), poisson, ramp
	Pace workloads.Pace `yaml:"pace,omitempty" json:"pace,omitempty"`
	Keys int            `yaml:"keys,omitempty" json:"keys,omitempty"` // for workloads with many keys
	// clients, the first, that only read, while the others only write; 0: each does both
	Readers int     `yaml:"readers,omitempty" json:"readers,omitempty"`
	Permits int     `yaml:"permits,omitempty" json:"permits,omitempty"` // for semaphores
	Amounts Amounts `yaml:"amounts,omitempty" json:"amounts,omitzero"`  // transfer: payment, remittance

	Persistence impls.Persistence `yaml:"persistence,omitempty" json:"persistence,omitempty"`
	MaxMemory   int64             `yaml:"maxmemory,omitempty" json:"maxmemory,omitempty"` // bytes, allkeys-lru
	// that a primary must have had within a second to take writes; 0 means none
	MinReplicas int `yaml:"minreplicas,omitempty" json:"minreplicas,omitempty"`
	// after which sentinels take a silent primary to be down; 0 means a second
	DownAfter faults.Span `yaml:"downafter,omitempty" json:"downafter,omitzero"`

	Faults []faults.Spec `yaml:"faults,omitempty" json:"faults,omitempty"`
	// SLO are limits on metrics, such as "acquire.p99 <= 20ms"; see results.ParseGate.
	SLO []string `yaml:"slo,omitempty" json:"slo,omitempty"`
}

// Amounts are the payment and the remittance of the workload transfer. Zero means its defaults.
type Amounts [2]int64

// IsZero reports whether the amounts are omitted.
func (a Amounts) IsZero() bool { return a == Amounts{} }

// YAML returns the scenario as a file, from which [Parse] reads the same scenario.
func (s Scenario) YAML() ([]byte, error) {
	data, err := yaml.MarshalWithOptions(s, yaml.IndentSequence(false))
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", s.Name, err)
	}
	return data, nil
}

// Hash returns the SHA-256, in hexadecimal, of a plan: the scenario without its description, the
// lock, and the seed.
func (s Scenario) Hash(seed uint64, lock string) (string, error) {
	s.About = ""
	data, err := s.YAML()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(fmt.Appendf(data, "lock: %q\nseed: %d\n", lock, seed))
	return hex.EncodeToString(sum[:]), nil
}
