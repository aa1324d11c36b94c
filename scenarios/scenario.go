// Package scenarios holds what is done to a lock: a workload, a topology, and a plan of faults, as YAML.
//
// The built-in scenarios are embedded and can be printed; a user's own is a file of the same form. Loading is strict: an
// unknown field, a wrong type or a value out of range is an error with file, line, column, the source line and a caret.
// The package only reads and resolves; running is the harness's.
//
// The flow: [Load] gives a scenario, [Scenario.With] changes it as --set asks, [Scenario.Resolve] makes a plan of it, in which
// nothing is left to choose, and [Scenario.Hash] names the plan. A resolved scenario written by [Scenario.YAML] and loaded again
// is the same plan.
package scenarios

import (
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
)

// Scenario is one scenario file. Spans may be given in leases.
type Scenario struct {
	Name     string         `yaml:"name" json:"name"`
	About    string         `yaml:"about" json:"about"` // one sentence: what is done, and what it shows
	Workload string         `yaml:"workload" json:"workload"`
	Topology impls.Topology `yaml:"topology,omitempty" json:"topology,omitempty"` // "" means the variant's own
	Nodes    int            `yaml:"nodes,omitempty" json:"nodes,omitempty"`       // of independent masters; 0 means 5

	Clients int         `yaml:"clients" json:"clients"`
	Ops     int         `yaml:"ops,omitempty" json:"ops,omitempty"`          // rounds per client; 0 means until Duration
	Length  faults.Span `yaml:"duration,omitempty" json:"duration,omitzero"` // 0 means until Ops are done
	WarmUp  faults.Span `yaml:"warmup,omitempty" json:"warmup,omitzero"`     // before Length, not measured
	Lease   faults.Span `yaml:"lease" json:"lease"`                          // never in leases
	Think   faults.Span `yaml:"think,omitempty" json:"think,omitzero"`       // inside the critical section
	Pause   faults.Span `yaml:"pause,omitempty" json:"pause,omitzero"`       // between rounds
	Wait    faults.Span `yaml:"wait,omitempty" json:"wait,omitzero"`         // deadline of an acquire; 0 means do not wait
	Poll    faults.Span `yaml:"poll,omitempty" json:"poll,omitzero"`         // interval of waiters that poll
	Rate    float64     `yaml:"rate,omitempty" json:"rate,omitempty"`        // rounds per second of all clients, open loop; 0 means closed loop
	Keys    int         `yaml:"keys,omitempty" json:"keys,omitempty"`        // for workloads with many keys
	Permits int         `yaml:"permits,omitempty" json:"permits,omitempty"`  // for semaphores
	Amounts Amounts     `yaml:"amounts,omitempty" json:"amounts,omitzero"`   // transfer: payment, remittance

	Persistence impls.Persistence `yaml:"persistence,omitempty" json:"persistence,omitempty"`
	MaxMemory   int64             `yaml:"maxmemory,omitempty" json:"maxmemory,omitempty"` // bytes, allkeys-lru

	Faults []faults.Spec `yaml:"faults,omitempty" json:"faults,omitempty"`
	// SLO is the limits that its figures must keep, such as "acquire.p99 <= 20ms"; see results.ParseGate.
	SLO []string `yaml:"slo,omitempty" json:"slo,omitempty"`
}

// Amounts are the two sums of the transfer workload: what a payment takes, what a remittance brings. Zero means the workload's own.
type Amounts [2]int64

// IsZero tells amounts that were left out.
func (a Amounts) IsZero() bool { return a == Amounts{} }
