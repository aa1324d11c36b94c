package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpAll is the flag that shows every flag of a command with many.
const helpAll = "help-all"

// needed are the flags that most people need first, of the commands that have many.
var needed = map[string][]string{
	"run":     {"lock", "exec", "scenario", "server", "clients", "duration", "rate", "set", "seed", "max"},
	"suite":   {"locks", "exec", "scenarios", "server", "seed", "baseline", "store", "keep-all", "shard", "out"},
	"bench":   {"locks", "exec", "clients", "server", "duration", "reps", "rate", "find-rate", "baseline", "store"},
	"explore": {"lock", "exec", "clients", "ops", "faults", "max-faults", "strategy", "budget", "schedules", "seed"},
}

// flagGroups are the headings of all flags, in their order, and what stands under each; what is in
// none stands under the first.
var flagGroups = []struct {
	head  string
	flags []string
}{
	{"What to run", nil},
	{"Load", []string{"clients", "clients-as", "duration", "ops", "rate", "rates", "find-rate", "pace", "lease", "keys", "hold", "warmup", "reps", "workload", "poll", "greedy", "budget", "schedules", "crash"}},
	{"Faults", []string{"set", "faults", "max-faults", "max-waits", "strategy"}},
	{"Servers", []string{"server", "binary", "image", "launch", "hosts", "listen", "nodes", "topology"}},
	{"Output, gates and baselines", []string{"out", "max", "min", "metrics-addr", "baseline", "exact", "store", "keep-all", "shard", "threshold", "raw", "allow-env-diff", "trace"}},
	{"TLS and passwords", []string{"password-file", "tls-ca", "tls-cert", "tls-key"}},
}

// groupFlags gives a command with many flags a help of one screen, and one with all flags in
// groups.
func groupFlags(c *cobra.Command) {
	if needed[c.Name()] == nil {
		return
	}
	c.Flags().Bool(helpAll, false, "show every flag, in groups")
	c.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprint(c.OutOrStderr(), usage(c))
		return err
	})
}

// usage is the end of a command's help, below what it does.
func usage(c *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	if !c.Flags().Changed(helpAll) {
		set.SortFlags = false
		for _, name := range needed[c.Name()] {
			set.AddFlag(c.Flags().Lookup(name))
		}
		fmt.Fprintf(&b, "\nFlags that most people need:\n%s\nAll flags, in groups: lockbench %s --%s\n", set.FlagUsagesWrapped(columns), c.Name(), helpAll)
		return b.String()
	}
	groups := make([]*pflag.FlagSet, len(flagGroups))
	for i := range groups {
		groups[i] = pflag.NewFlagSet("", pflag.ContinueOnError)
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		group := 0
		for i, g := range flagGroups {
			if slices.Contains(g.flags, f.Name) {
				group = i
			}
		}
		if f.Name != "help" && f.Name != helpAll {
			groups[group].AddFlag(f)
		}
	})
	for i, set := range groups {
		if set.HasFlags() {
			fmt.Fprintf(&b, "\n%s:\n%s", flagGroups[i].head, set.FlagUsagesWrapped(columns))
		}
	}
	fmt.Fprintf(&b, "\nOf every command:\n%s", c.InheritedFlags().FlagUsagesWrapped(columns))
	return b.String()
}
