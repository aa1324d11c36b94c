package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// oneOfFlags allows at most one of these flags. Cobra, which checks that later and in its own words, is told for the sake of completion.
func oneOfFlags(c *cobra.Command, names ...string) {
	c.MarkFlagsMutuallyExclusive(names...)
	before(c, func(c *cobra.Command) error {
		if given := changed(c, names); len(given) > 1 {
			return fmt.Errorf("%w: %s cannot be given together: leave %s out", errUsage, joined(given, "and"), joined(given, "or"))
		}
		return nil
	})
}

// allOfFlags says that these flags need each other.
func allOfFlags(c *cobra.Command, names ...string) {
	c.MarkFlagsRequiredTogether(names...)
	before(c, func(c *cobra.Command) error {
		given := changed(c, names)
		if len(given) == 0 || len(given) == len(names) {
			return nil
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(given, n) })
		return fmt.Errorf("%w: %s needs %s, which is missing", errUsage, joined(given, "and"), joined(missing, "and"))
	})
}

// before adds a check to those that a command makes before its verb begins.
func before(c *cobra.Command, check func(*cobra.Command) error) {
	earlier := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if earlier != nil {
			if err := earlier(c, args); err != nil {
				return err
			}
		}
		return check(c)
	}
}

// changed returns which of the flags were given.
func changed(c *cobra.Command, names []string) (given []string) {
	for _, n := range names {
		if c.Flags().Changed(n) {
			given = append(given, n)
		}
	}
	return given
}

// joined lists flags: "--a, --b and --c".
func joined(names []string, word string) string {
	last := len(names) - 1
	if last == 0 {
		return "--" + names[0]
	}
	return "--" + strings.Join(names[:last], ", --") + " " + word + " --" + names[last]
}
