package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

// scenarioOf loads the scenario, for a lock of this topology, and applies the flags that change it.
func (f runFlags) scenarioOf(flags *pflag.FlagSet, own impls.Topology) (s scenarios.Scenario, err error) {
	if len(f.set) > 0 {
		own = "" // they may change the topology, and the node of a fault
	}
	if s, err = scenarios.LoadOn(f.scenario, own); err != nil {
		return s, asInput(err)
	}
	for _, c := range f.changes() {
		flag := flags.Lookup(c.flag)
		if !flag.Changed {
			continue
		}
		c.set(&s)
		if err := s.Validate(); err != nil {
			return s, asInput(blame(flag, err))
		}
	}
	if s, err = s.With(f.set); err != nil {
		return s, asInput(err)
	}
	limits, err := gates(f.max, f.min)
	for _, g := range limits {
		s.SLO = append(slices.Clip(s.SLO), g.Text)
	}
	return s, err
}

// blame names the flag, and its value if the message does not, in the error of a scenario that it
// changed.
func blame(flag *pflag.Flag, err error) error {
	var wrong *scenarios.Error
	value := flag.Value.String()
	switch {
	case !errors.As(err, &wrong):
		return err
	case strings.Contains(wrong.Message, strconv.Quote(value)):
		return fmt.Errorf("--%s: %s", flag.Name, wrong.Message)
	}
	return fmt.Errorf("--%s %s: %s", flag.Name, value, wrong.Message)
}

// change is what a flag sets in a scenario.
type change struct {
	flag string
	set  func(*scenarios.Scenario)
}

// changes lists the flags that change a scenario, in the order in which they do. A length by time
// and one by rounds take each other's place.
func (f runFlags) changes() []change {
	fixed := func(d time.Duration) faults.Span { return faults.Span{Fixed: d} }
	return []change{
		{"workload", func(s *scenarios.Scenario) { s.Workload = f.workload }},
		{"clients", func(s *scenarios.Scenario) { s.Clients = f.clients }},
		{"lease", func(s *scenarios.Scenario) { s.Lease = fixed(f.lease) }},
		{"rate", func(s *scenarios.Scenario) { s.Rate = f.rate }},
		{"duration", func(s *scenarios.Scenario) { s.Length, s.Ops = fixed(f.duration), 0 }},
		{"ops", func(s *scenarios.Scenario) { s.Ops, s.Length = f.ops, faults.Span{} }},
		{"pace", func(s *scenarios.Scenario) { s.Pace = workloads.Pace(f.pace.value) }},
	}
}

// leavesLength reports whether neither a scenario nor a length is given. On real servers such a run
// is long enough for latencies.
func (f runFlags) leavesLength(flags *pflag.FlagSet) bool {
	set := func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "ops" || name == "duration" || name == "warmup"
	}
	return !flags.Changed("scenario") && !flags.Changed("ops") && !flags.Changed("duration") && !slices.ContainsFunc(f.set, set)
}
