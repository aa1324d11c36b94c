package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/results"
)

// takes requires some number of arguments, which want tells.
func takes(want string, least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if least <= len(args) && len(args) <= most {
			return nil
		}
		return wrongArgs(c, want, args)
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

// oneOfFlags allows at most one of these flags. Cobra, which checks that later and in its own
// words, has them marked so that completion offers one.
func oneOfFlags(c *cobra.Command, names ...string) {
	c.MarkFlagsMutuallyExclusive(names...)
	before(c, func(c *cobra.Command) error {
		given := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !c.Flags().Changed(n) })
		if len(given) > 1 {
			return fmt.Errorf("%w: %s cannot be given together: leave %s out", errUsage, joined(given, "and"), joined(given, "or"))
		}
		return nil
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

// joined lists several flags: "--a, --b and --c".
func joined(names []string, word string) string {
	last := len(names) - 1
	return "--" + strings.Join(names[:last], ", --") + " " + word + " --" + names[last]
}

type shardFlag struct{ given *results.Shard }

// String returns the shard; "" for the whole.
func (f *shardFlag) String() string {
	if f.given == nil {
		return ""
	}
	return f.given.String()
}

// Type names the value in help texts.
func (f *shardFlag) Type() string { return "i/n" }

// Set reads "3/8".
func (f *shardFlag) Set(text string) error {
	s, err := results.ParseShard(text)
	if err == nil {
		f.given = &s
	}
	return err
}
