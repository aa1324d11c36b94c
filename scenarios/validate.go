package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// Limits of a scenario.
const (
	maxClients = 1024
	maxName    = 64
	MaxKeys    = 100_000          // each is read at the end of a run
	maxPermits = 100_000          // of a semaphore
	MinLease   = time.Millisecond // Redis counts leases in milliseconds
)

// validate reports values that are out of range or contradict each other.
func (s Scenario) validate(own impls.Topology, bad faults.Problems) {
	s.validateNames(bad)
	s.validateNumbers(bad)
	s.validateSpans(bad)
	for i, text := range s.SLO { // so that a misspelt metric is found before the run
		if _, err := results.ParseGate(text); err != nil {
			bad(fmt.Sprintf("slo.%d", i), "%v", err)
		}
	}
	if s.WarmUp != (faults.Span{}) && s.Length == (faults.Span{}) {
		bad("warmup", "needs a duration: a run with a number of rounds measures all of them")
	}
	in := faults.Setting{Clients: s.Clients, Nodes: faults.MaxNodes, Lease: s.Lease.Fixed, Topology: s.Topology}
	if s.Topology = cmp.Or(s.Topology, own); s.Topology != "" {
		in.Nodes = s.NodeCount()
	}
	for i, f := range s.Faults {
		f.Validate(in, func(path, format string, args ...any) {
			bad(join(fmt.Sprintf("faults.%d", i), path), format, args...)
		})
	}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$`)

func (s Scenario) validateNames(bad faults.Problems) {
	if !nameForm.MatchString(s.Name) {
		bad("name", "%q: a name is letters and digits, joined by hyphens", s.Name)
	} else if len(s.Name) > maxName {
		bad("name", "the name has %d letters; at most %d fit the run directory's name", len(s.Name), maxName)
	}
	oneOf(bad, "workload", s.Workload, workloads.Names())
	if s.Topology != "" {
		oneOf(bad, "topology", s.Topology, impls.Topologies())
	}
	if s.Persistence != "" {
		oneOf(bad, "persistence", s.Persistence, impls.Persistences())
	}
}

func oneOf[S ~string](bad faults.Problems, path string, word S, known []S) {
	if !slices.Contains(known, word) {
		bad(path, "%s", foreign.Unknown(lastOf(path), word, known))
	}
}

// lastOf returns the last part of a path that is not an index.
func lastOf(path string) string {
	for _, p := range slices.Backward(strings.Split(path, ".")) {
		if p[0] < '0' || p[0] > '9' {
			return p
		}
	}
	return path
}

func (s Scenario) validateNumbers(bad faults.Problems) {
	between(bad, "clients", s.Clients, 1, maxClients)
	between(bad, "nodes", s.Nodes, 0, faults.MaxNodes)
	for t, least := range map[impls.Topology]int{impls.Replicated: 2, impls.Cluster: impls.ClusterMasters} {
		if s.Topology == t && s.Nodes != 0 && s.Nodes < least {
			bad("nodes", "a %s topology has at least %d", t, least)
		}
	}
	between(bad, "minreplicas", s.MinReplicas, 0, 2)
	between(bad, "keys", s.Keys, 0, MaxKeys)
	between(bad, "readers", s.Readers, 0, s.Clients)
	between(bad, "permits", s.Permits, 0, maxPermits)
	for _, n := range []struct {
		path  string
		value float64
	}{{"ops", float64(s.Ops)}, {"maxmemory", float64(s.MaxMemory)}} {
		if !(n.value >= 0 && n.value <= 1e15) {
			bad(n.path, "must be between 0 and 1e15")
		}
	}
	if !(s.Rate >= 0 && s.Rate <= 1e9) {
		bad("rate", "must be between 0 and 1e9")
	}
	if s.Pace != "" {
		oneOf(bad, "pace", s.Pace, workloads.Paces())
		switch {
		case s.Rate == 0:
			bad("pace", "needs a rate: without one each round begins when the last has ended")
		case s.Pace == workloads.Ramp && s.Length == (faults.Span{}):
			bad("pace", "a ramp needs a duration, in which it rises")
		}
	}
	if s.Ops == 0 && s.Length == (faults.Span{}) {
		bad("ops", "ops or duration must be given")
	}
}

func between(bad faults.Problems, path string, n, low, high int) {
	if n < low || n > high {
		bad(path, "must be between %d and %d", low, high)
	}
}

func (s Scenario) validateSpans(bad faults.Problems) {
	if s.Lease.Leases != 0 {
		bad("lease", "%s: the lease itself is not given in leases", s.Lease)
	} else if s.Lease.Fixed < MinLease {
		bad("lease", "must be at least %v", MinLease)
	}
	for _, p := range []struct {
		path string
		span faults.Span
	}{{"lease", s.Lease}, {"duration", s.Length}, {"warmup", s.WarmUp}, {"think", s.Think}, {"pause", s.Pause}, {"keep", s.Keep}, {"wait", s.Wait}, {"poll", s.Poll}, {"downafter", s.DownAfter}} {
		switch leases := p.span.Leases * float64(s.Lease.Fixed); {
		case p.span.Fixed < 0 || leases < 0:
			bad(p.path, "must not be negative")
		case p.span.Fixed > faults.MaxFixed || leases > float64(faults.MaxFixed):
			bad(p.path, "must be at most %v", faults.MaxFixed)
		}
	}
}
