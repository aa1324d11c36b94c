package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/workloads"
)

// exactly requires one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return fmt.Errorf("%w: %s needs %s, got %d arguments", errUsage, c.CommandPath(), strings.Join(names, " and "), len(args))
	}
}

// oneOf allows at most one argument, which must be a known word.
func oneOf(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) == 1 && slices.Contains(words, args[0]) {
			return nil
		}
		return fmt.Errorf("%w: %s takes one of %s, got %s%s", errUsage, c.CommandPath(), strings.Join(words, ", "), strings.Join(args, " "), suggest.Hint(args[0], words))
	}
}

// nothing allows no argument.
func nothing(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s takes no arguments, got %s; options begin with --", errUsage, c.CommandPath(), strings.Join(args, " "))
}

const clientsAsUsage = "what a client is; processes can really be stopped and killed"

// newClientsAs makes the value of --clients-as.
func newClientsAs() choice {
	return choice{value: string(harness.Goroutines), allowed: []string{string(harness.Goroutines), string(harness.Processes)}}
}

// newPace makes the value of --pace.
func newPace() choice {
	c := choice{value: string(workloads.Constant)}
	for _, p := range workloads.Paces() {
		c.allowed = append(c.allowed, string(p))
	}
	return c
}
