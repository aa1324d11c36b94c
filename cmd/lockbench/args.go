package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/subject"
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

// loadEach loads what each name or path stands for.
func loadEach[T any](names []string, load func(string) (T, error)) (all []T, err error) {
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

// execFlags name a command that is the lock, in place of a lock of the catalogue.
type execFlags struct{ fleet subject.Fleet }

func (f *execFlags) register(s *pflag.FlagSet) {
	s.StringVar(&f.fleet.Exec, "exec", "", "a command to test in place of a lock of the catalogue; each client is a process of it; see docs/your-lock.md")
	s.StringVar(&f.fleet.Launch, "launch", "", "a command that starts --exec elsewhere: 'ssh {host}', 'docker exec -i {container}'")
	s.StringSliceVar(&f.fleet.Hosts, "hosts", nil, "values for the word in braces of --launch, one client after the other")
	s.StringVar(&f.fleet.Listen, "listen", "", "address of this machine that processes started elsewhere can reach (default 127.0.0.1)")
}

func (f execFlags) given() bool { return f.fleet.Exec != "" }

// check finds flags that contradict each other. named is the flag that --exec replaces, "lock", or
// "" if it replaces none.
func (f execFlags) check(flags *pflag.FlagSet, named string) error {
	braces := subject.HasPlaceholder(f.fleet.Launch)
	switch {
	case !f.given() && (f.fleet.Launch != "" || len(f.fleet.Hosts) > 0 || f.fleet.Listen != ""):
		return fmt.Errorf("%w: --launch, --hosts and --listen are for the command of --exec, which is missing", errUsage)
	case f.given() && named != "" && flags.Changed(named):
		return fmt.Errorf("%w: --exec takes the place of --%s: give one of them", errUsage, named)
	case braces && len(f.fleet.Hosts) == 0:
		return fmt.Errorf("%w: --launch %q: --hosts is missing, to take the place of the braces", errUsage, f.fleet.Launch)
	case !braces && len(f.fleet.Hosts) > 0:
		return fmt.Errorf("%w: --hosts: --launch has no word in braces, such as {host}, that they could take the place of", errUsage)
	}
	return nil
}

// lock returns the named lock, or the variant that the command describes, which is started once.
func (f *execFlags) lock(ctx context.Context, name string) (impls.Variant, error) {
	if f.given() {
		return f.probe(ctx)
	}
	return variant(name)
}

func (f *execFlags) probe(ctx context.Context) (impls.Variant, error) {
	v, err := f.fleet.Probe(ctx)
	if err == nil {
		v.Expect = expect.Foreign(v)
	}
	return v, err
}

// server returns the provider's name. A process cannot use the simulator, so "auto" replaces it as
// default.
func (f execFlags) server(word string, flags *pflag.FlagSet) (string, error) {
	switch {
	case !f.given():
	case !flags.Changed("server"):
		return "auto", nil
	case word == "sim":
		return "", fmt.Errorf("%w: --exec with --server sim: a process needs real time; use process, docker or a redis:// URL", errUsage)
	}
	return word, nil
}

// words returns the flags as given.
func (f execFlags) words() (words []string) {
	for _, flag := range [...][2]string{{"--exec", f.fleet.Exec}, {"--launch", f.fleet.Launch}, {"--hosts", strings.Join(f.fleet.Hosts, ",")}, {"--listen", f.fleet.Listen}} {
		if flag[1] != "" {
			words = append(words, flag[0], flag[1])
		}
	}
	return words
}
