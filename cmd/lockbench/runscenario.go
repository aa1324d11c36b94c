package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

// scenarioOf loads the scenario, for a lock of this topology, and applies the flags that change it,
// one after the other. A length by time and one by rounds take each other's place.
func (f runFlags) scenarioOf(flags *pflag.FlagSet, own impls.Topology) (s scenarios.Scenario, err error) {
	if len(f.set) > 0 {
		own = "" // they may change the topology, and the node of a fault
	}
	if s, err = scenarios.LoadOn(f.scenario, own); err != nil {
		return s, asInput(err)
	}
	for _, name := range []string{"workload", "clients", "lease", "rate", "duration", "ops", "pace"} {
		flag := flags.Lookup(name)
		if !flag.Changed {
			continue
		}
		switch name {
		case "workload":
			s.Workload = f.workload
		case "clients":
			s.Clients = f.clients
		case "lease":
			s.Lease = faults.Span{Fixed: f.lease}
		case "rate":
			s.Rate = f.rate
		case "duration":
			s.Length, s.Ops = faults.Span{Fixed: f.duration}, 0
		case "ops":
			s.Ops, s.Length = f.ops, faults.Span{}
		case "pace":
			s.Pace = workloads.Pace(f.pace.value)
		}
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

// leavesLength reports whether neither a scenario nor a length is given. On real servers such a run
// is long enough for latencies.
func (f runFlags) leavesLength(flags *pflag.FlagSet) bool {
	set := func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "ops" || name == "duration" || name == "warmup"
	}
	return !flags.Changed("scenario") && !flags.Changed("ops") && !flags.Changed("duration") && !slices.ContainsFunc(f.set, set)
}
