package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
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
			err = fmt.Errorf("%w%s", err, foreign.Hint(args[0], words))
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

// exclusive refuses flags that exclude each other (cobra's MarkFlagsMutuallyExclusive) for every
// command. Cobra does so later, in words that a user must read twice.
func exclusive(c *cobra.Command, _ []string) (err error) {
	c.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations["cobra_annotation_mutually_exclusive"] {
			given := slices.DeleteFunc(strings.Fields(group), func(name string) bool { return !c.Flags().Changed(name) })
			if len(given) > 1 {
				err = fmt.Errorf("%w: --%s cannot be given together: leave one out", errUsage, strings.Join(given, " and --"))
			}
		}
	})
	return err
}

// inRange checks the numbers of a flag that was given.
func inRange(flags *pflag.FlagSet, name string, least, most int, values ...int) error {
	for _, n := range values {
		if flags.Changed(name) && (n < least || n > most) {
			return fmt.Errorf("%w: --%s %d: must be %d to %d", errUsage, name, n, least, most)
		}
	}
	return nil
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

func lockNames() []string { return namesOf(catalogue.Locks(), variantName) }
func scenarioNames() []string {
	return namesOf(scenarios.Builtin(), func(s scenarios.Scenario) string { return s.Name })
}

func variantName(v impls.Variant) string { return v.Name }

func namesOf[T any](all []T, name func(T) string) (names []string) {
	for _, v := range all {
		names = append(names, name(v))
	}
	return names
}

// loadEach loads what each name, path or size stands for.
func loadEach[N, T any](names []N, load func(N) (T, error)) (all []T, err error) {
	for _, name := range names {
		one, err := load(name)
		if err != nil {
			return nil, asInput(err)
		}
		all = append(all, one)
	}
	return all, nil
}

// variant finds a lock or a planted bug. groups are other words that the caller accepts.
func variant(name string, groups ...string) (impls.Variant, error) {
	if name == "" {
		return impls.Variant{}, fmt.Errorf("%w: --lock is missing; 'lockbench list locks' shows them", errUsage)
	}
	if strings.Contains(name, ",") {
		return impls.Variant{}, fmt.Errorf("%w: --lock takes one lock, got %q; for several, --locks %s of suite (every scenario) or bench (what they cost)",
			errUsage, name, name)
	}
	v, ok := catalogue.Find(name)
	if !ok {
		return impls.Variant{}, fmt.Errorf("%w: unknown lock %q%s", errUsage, name,
			cmp.Or(foreign.Hint(name, slices.Concat(lockNames(), namesOf(catalogue.Planted(), variantName), groups)), "; 'lockbench list locks' shows them"))
	}
	return v, nil
}

// rerun returns the command that repeats a run: the given flags, the server used, the seed.
func rerun(flags *pflag.FlagSet, verb string, p servers.Provider, seed uint64) string {
	name := p.Name()
	if p.Guest() {
		name = ""
	}
	return again(flags, verb, name, seed)
}

// again is rerun with the name of the server; "" keeps the flag as given.
func again(flags *pflag.FlagSet, verb, server string, seed uint64) string {
	except := []string{"seed"}
	if verb == "run" { // each repetition has a seed of its own
		except = append(except, "reps")
	}
	if server != "" {
		except = append(except, "server")
	}
	words := append([]string{"lockbench", verb}, givenFlags(flags, except...)...)
	if server != "" {
		words = append(words, "--server", server)
	}
	return results.CommandLine(append(words, "--seed", strconv.FormatUint(seed, 10)))
}

// givenFlags returns the flags that were given, as words, but not those that say where and how
// results are kept and shown: to run again replaces no file. A list is one value, except for flags
// that are repeated.
func givenFlags(flags *pflag.FlagSet, except ...string) (words []string) {
	except = append(except, "out", "output", "quiet", "keep-all", "metrics-addr", "store")
	flags.Visit(func(flag *pflag.Flag) {
		list, _ := flag.Value.(pflag.SliceValue)
		switch kind := flag.Value.Type(); {
		case slices.Contains(except, flag.Name):
		case kind == "bool": // its value would be taken for an argument
			words = append(words, strings.TrimSuffix("--"+flag.Name+"="+flag.Value.String(), "=true"))
		case kind == "stringArray":
			for _, v := range list.GetSlice() {
				words = append(words, "--"+flag.Name, v)
			}
		case list != nil:
			words = append(words, "--"+flag.Name, strings.Join(list.GetSlice(), ","))
		default:
			words = append(words, "--"+flag.Name, flag.Value.String())
		}
	})
	return words
}
