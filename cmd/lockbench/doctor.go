package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

type diagnosis struct {
	Schema       string               `json:"schema"`
	Environment  results.Environment  `json:"environment"`
	Auto         string               `json:"auto"` // the provider that --server auto takes; "" = none
	Capabilities []servers.Capability `json:"capabilities"`
}

func newDoctor(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can run, and how to get what is missing",
		Long: "doctor shows for every source of servers what it can do here: topologies, server faults, clock faults. What is unavailable is\n" +
			"shown with the reason and the way to get it. It starts no server. It exits with 5 when no server is available.",
		Example: "  lockbench doctor\n  lockbench doctor -o json",
		Args:    nothing,
		RunE:    func(c *cobra.Command, _ []string) error { return a.doctor(c.Context()) },
	}
}

func (a *app) doctor(ctx context.Context) error {
	d := diagnosis{Schema: "lockbench/doctor/v1", Environment: results.CaptureEnvironment(ctx, thisMachine()),
		Capabilities: servers.Survey(ctx, serverFaults(), a.providers()...)}
	p, _, err := automatic(ctx, a.providers())
	if err == nil {
		d.Auto = p.Name()
	}
	show := func() error { return a.table(d.rows()...) }
	if a.json() {
		show = func() error { return a.writeJSON(d) }
	}
	return errors.Join(show(), err)
}

// serverFaults returns what the faults of servers ask of a provider.
func serverFaults() (all []servers.Ability) {
	for _, k := range faults.Kinds() {
		if k.In == faults.InServer {
			all = append(all, servers.Ability{Name: k.Name, Clock: k.Clock, Own: k.Own})
		}
	}
	return all
}

// rows returns a line about the machine, then for each provider a line and what it cannot do and
// why.
func (d diagnosis) rows() [][]string {
	e := d.Environment
	rows := [][]string{
		{"machine", fmt.Sprintf("%s, %d CPUs, %s, kernel %s, clock %s", e.Platform, e.CPUs, cmp.Or(e.CPU, "unknown"), cmp.Or(e.Kernel, "unknown"), cmp.Or(e.ClockSource, "unknown"))},
		{"go", e.Go},
		{"auto", "takes " + cmp.Or(d.Auto, "nothing: no server is available")},
	}
	for _, name := range slices.Compact(namesOf(d.Capabilities, func(c servers.Capability) string { return c.Provider })) {
		rows = append(rows, nil, d.summary(name))
		rows = append(rows, d.shortcomings(name)...)
	}
	return rows
}

// summary returns what a provider can do, and its version.
func (d diagnosis) summary(name string) []string {
	var able []string
	detail := ""
	for _, c := range d.Capabilities {
		switch {
		case c.Provider != name || !c.OK:
		case c.Ability == servers.CanServe:
			detail = c.Detail
		default:
			able = append(able, c.Ability)
		}
	}
	if detail == "" && len(able) == 0 {
		return []string{name, "not available"}
	}
	if detail != "" && len(able) > 0 {
		detail += ": "
	}
	return []string{name, detail + strings.Join(able, ", ")}
}

// shortcomings returns the reasons, each with everything that it rules out. A provider without a
// server has one reason.
func (d diagnosis) shortcomings(name string) [][]string {
	var reasons []string
	lost := map[string][]string{}
	for _, c := range d.Capabilities {
		if c.Provider != name || c.OK {
			continue
		}
		reason := strings.TrimPrefix(strings.TrimPrefix(c.Reason, c.Ability+": "), "not available: ")
		if !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
		lost[reason] = append(lost[reason], c.Ability)
		if c.Ability == servers.CanServe {
			lost[reason] = nil // all, which the summary says
			break
		}
	}
	var rows [][]string
	for _, r := range reasons {
		if len(lost[r]) > 0 {
			rows = append(rows, []string{"", "no " + strings.Join(lost[r], ", ")})
		}
		for line := range strings.Lines(r) {
			rows = append(rows, []string{"", "  " + strings.TrimSpace(line)})
		}
	}
	return rows
}
