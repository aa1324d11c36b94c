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
		var b strings.Builder // the end of its help, below what it does
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		if !c.Flags().Changed(helpAll) {
			most := pflag.NewFlagSet("", pflag.ContinueOnError)
			most.SortFlags = false
			for _, name := range needed[c.Name()] {
				most.AddFlag(c.Flags().Lookup(name))
			}
			_, err := fmt.Fprintf(c.OutOrStderr(), "%s\nFlags that most people need:\n%s\nAll flags, in groups: lockbench %s --%s\n",
				&b, most.FlagUsagesWrapped(columns), c.Name(), helpAll)
			return err
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
		_, err := fmt.Fprintf(c.OutOrStderr(), "%s\nOf every command:\n%s", &b, c.InheritedFlags().FlagUsagesWrapped(columns))
		return err
	})
}
