package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/suggest"
)

// exactly requires one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return wrongArgs(c, "needs "+strings.Join(names, " and "), args)
	}
}

// atMostOne allows one argument, which messages call what.
func atMostOne(what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < 2 {
			return nil
		}
		return wrongArgs(c, "takes one "+what, args)
	}
}

// oneOf allows at most one argument, which must be a known word.
func oneOf(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 || len(args) == 1 && slices.Contains(words, args[0]) {
			return nil
		}
		err := wrongArgs(c, "takes one of "+strings.Join(words, ", "), args)
		if len(args) == 1 {
			err = fmt.Errorf("%w%s", err, suggest.Hint(args[0], words))
		}
		return err
	}
}

// nothing allows no argument.
func nothing(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%w; options begin with --", wrongArgs(c, "takes no arguments", args))
}

func wrongArgs(c *cobra.Command, want string, args []string) error {
	got := "nothing"
	if len(args) > 0 {
		got = strings.TrimSuffix(fmt.Sprintf("%q", args)[1:], "]")
	}
	return fmt.Errorf("%w: %s %s, got %s", errUsage, c.Name(), want, got)
}

const clientsAsUsage = "what a client is; processes can really be stopped and killed"

func newClientsAs() choice {
	return newChoice(harness.Goroutines, harness.Goroutines, harness.Processes)
}
