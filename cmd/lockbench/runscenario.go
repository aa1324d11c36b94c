package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/scenarios"
)

// scenarioOf loads the scenario, for a lock of this topology, and applies the flags that change it.
func (f runFlags) scenarioOf(flags *pflag.FlagSet, own impls.Topology) (s scenarios.Scenario, err error) {
	if len(f.set) > 0 {
		own = "" // they may change the topology, and the node of a fault
	}
	if s, err = scenarios.LoadOn(f.scenario, own); err != nil {
		return s, asInput(err)
	}
	for _, c := range f.changes(flags) {
		if s, err = s.With(c.sets); err != nil {
			return s, asInput(c.blame(err))
		}
	}
	limits, err := gates(f.max, f.min)
	for _, g := range limits {
		s.SLO = append(slices.Clip(s.SLO), g.Text)
	}
	return s, err
}

// change is a change of a scenario by a flag.
type change struct {
	flag, value string // as given; no flag for --set
	sets        []string
}

// blame names the flag, and its value if the message does not, in the error of its change. Errors of --set have their own caret.
func (c change) blame(err error) error {
	var wrong *scenarios.Error
	switch {
	case c.flag == "" || !errors.As(err, &wrong):
		return err
	case strings.Contains(wrong.Message, strconv.Quote(c.value)):
		return fmt.Errorf("%s: %s", c.flag, wrong.Message)
	}
	return fmt.Errorf("%s %s: %s", c.flag, c.value, wrong.Message)
}

// changes turns flags into changes of the scenario, --set last. A length by time and one by rounds take each other's place.
func (f runFlags) changes(flags *pflag.FlagSet) (all []change) {
	also := map[string]string{"duration": "ops=0", "ops": "duration=0s"}
	for _, name := range []string{"workload", "clients", "lease", "rate", "duration", "ops", "pace"} {
		if !flags.Changed(name) {
			continue
		}
		value := flags.Lookup(name).Value.String()
		c := change{flag: "--" + name, value: value, sets: []string{name + "=" + value}}
		if other, ok := also[name]; ok {
			c.sets = append(c.sets, other)
		}
		all = append(all, c)
	}
	return append(all, change{sets: f.set})
}

// leavesLength reports whether neither a scenario nor a length is given. On real servers such a run is long enough for latencies.
func (f runFlags) leavesLength(flags *pflag.FlagSet) bool {
	set := func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return name == "ops" || name == "duration" || name == "warmup"
	}
	return !flags.Changed("scenario") && !flags.Changed("ops") && !flags.Changed("duration") && !slices.ContainsFunc(f.set, set)
}
