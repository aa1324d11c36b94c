package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
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
	OpenFiles    int                  `json:"open_files,omitempty"` // how many files and connections this process may have open; 0 = not known
	Auto         string               `json:"auto"`                 // the provider that --server auto takes; "" = none
	Capabilities []servers.Capability `json:"capabilities"`
}

func newDoctor(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Show what this machine can run, and how to get what is missing",
		Long: "doctor shows for every source of servers what it can do here: topologies, server faults, clock faults. What is unavailable is\n" +
			"shown with the reason and the way to get it. It starts no server. It exits with 5 when no server is available.",
		Example: "  lockbench doctor\n  lockbench doctor -o json",
		Args:    nothing,
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		ctx := c.Context()
		var asked []servers.Ability // what the faults of servers ask of a provider
		for _, k := range faults.Kinds() {
			if k.In == faults.InServer {
				asked = append(asked, servers.Ability{Name: k.Name, Clock: k.Clock, Own: k.Own})
			}
		}
		d := diagnosis{Schema: "lockbench/doctor/v1", Environment: results.CaptureEnvironment(ctx, thisMachine()), Capabilities: servers.Survey(ctx, asked, a.providers()...)}
		if limits, err := os.ReadFile("/proc/self/limits"); err == nil { // Linux alone has it
			_, after, _ := strings.Cut(string(limits), "Max open files")
			_, _ = fmt.Sscan(after, &d.OpenFiles) // "unlimited" leaves 0
		}
		p, _, err := automatic(ctx, a.providers())
		if err == nil {
			d.Auto = p.Name()
		}
		if a.json() {
			return errors.Join(a.writeJSON(d), err)
		}
		e := d.Environment
		rows := [][]string{
			{"machine", fmt.Sprintf("%s, %d CPUs, %s, kernel %s, clock %s", e.Platform, e.CPUs, cmp.Or(e.CPU, "unknown"), cmp.Or(e.Kernel, "unknown"), cmp.Or(e.ClockSource, "unknown"))},
			{"go", e.Go},
		}
		if e.CPUQuota > 0 || e.MemoryLimit > 0 {
			rows = append(rows, []string{"limits", fmt.Sprintf("of the control group: %.2g cores, %d MiB of memory (0: none)", e.CPUQuota, e.MemoryLimit>>20)})
		}
		if d.OpenFiles > 0 {
			rows = append(rows, []string{"files", fmt.Sprintf("%d may be open at once, connections included; raise it with ulimit -n", d.OpenFiles)})
		}
		rows = append(rows, []string{"auto", "takes " + cmp.Or(d.Auto, "nothing: no server is available")})
		for _, name := range slices.Compact(namesOf(d.Capabilities, func(c servers.Capability) string { return c.Provider })) {
			rows = append(append(rows, nil), d.about(name)...)
		}
		return errors.Join(a.table(rows...), err)
	}
	return c
}

// about returns what a provider can do, and its version; then the reasons why it cannot do more,
// each with everything that it rules out. A provider without a server has one reason.
func (d diagnosis) about(name string) [][]string {
	var able, reasons []string
	detail, lost, serves := "", map[string][]string{}, true
	for _, c := range d.Capabilities {
		switch {
		case c.Provider != name || !serves:
		case c.OK && c.Ability == servers.CanServe:
			detail = c.Detail
		case c.OK:
			able = append(able, c.Ability)
		default:
			reason := strings.TrimPrefix(strings.TrimPrefix(c.Reason, c.Ability+": "), "not available: ")
			if !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
			lost[reason] = append(lost[reason], c.Ability)
			if serves = c.Ability != servers.CanServe; !serves { // all, which the first row says
				lost[reason] = nil
			}
		}
	}
	texts := slices.DeleteFunc([]string{detail, strings.Join(able, ", ")}, func(text string) bool { return text == "" })
	rows := [][]string{{name, cmp.Or(strings.Join(texts, ": "), "not available")}}
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
