package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
	"github.com/lockbench/lockbench/workloads"
)

// world is what the program uses of its process. Tests make their own.
type world struct {
	out, err                 io.Writer
	outTerminal, errTerminal bool // somebody reads it
	columns                  int  // of the terminal that stderr is; 0: not known
	now                      func() time.Time
	random                   io.Reader
	env                      func(string) string
	// takes over signals that end a process, until stop
	notify func() (signals <-chan os.Signal, stop func())
	quit   func(code int) // ends the process at once

	providers   func() []servers.Provider
	runner      func(context.Context, harness.Experiment) (*harness.Outcome, error)
	suiteRunner func(context.Context, harness.SuiteConfig) (results.Suite, error)
	explorer    func(context.Context, search.Config, func(search.Stats)) (search.Result, error)
}

// app is one execution of the program.
type app struct {
	world
	argv       []string
	line       *statusLine
	format     choice // of -o
	quiet      bool   // -q
	reach      serverFlags
	interrupts interrupts
	ran        bool // flags and arguments were right
}

// execute runs one command line to its exit code.
func execute(ctx context.Context, argv []string, w world) (code int) {
	a := &app{world: w, argv: argv, line: &statusLine{w: w.err, wide: w.columns}, format: newChoice("text", "text", "json")}
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(w.err, "lockbench: internal error: %v\n%s", p, debug.Stack())
			code = exitInternal
		}
	}()
	root := newRoot(a)
	root.SetArgs(argv[1:])
	help := bufio.NewWriter(w.out) // keeps its first error, which cobra ignores
	root.SetOut(help)
	root.SetErr(w.err)
	c, err := root.ExecuteContextC(ctx)
	if err != nil && !a.ran && !errors.Is(err, errUsage) {
		// cobra's own: unknown command, wrong number of arguments
		err = fmt.Errorf("%w: %w%s", errUsage, err, suggestCommand(root, argv[1:]))
	}
	if unwritten := help.Flush(); unwritten != nil {
		a.ran, err = true, errors.Join(err, fmt.Errorf("help: %w", unwritten))
	}
	a.complain(err)
	switch {
	case err == nil || a.ran:
	case c.HasParent() && c.Name() != "help":
		a.line.print("'lockbench help " + c.Name() + "' shows its flags")
	default:
		a.line.print("'lockbench help' shows the commands")
	}
	return exitCode(err)
}

// complain prints errors to stderr, a line each and each once, except results, which stdout shows
// already, and an interrupt, which was reported when it came.
func (a *app) complain(err error) {
	a.line.clear()
	said := map[string]bool{}
	unsaved, shown := onceFull(err)
	for _, one := range separate(shown) {
		switch {
		case one == nil, one == errViolated, one == errGate, one == errInconclusive, one == errInterrupted, errors.Is(one, context.Canceled), said[one.Error()]:
			continue
		}
		said[one.Error()] = true
		a.line.print("lockbench: " + inPlain(one))
	}
	if unsaved > 0 {
		a.line.print("lockbench: " + report.Plural(unsaved, "more file") + " could not be saved")
	}
}

// inPlain returns the text of an error without the mark of one of usage.
func inPlain(err error) string { return strings.TrimPrefix(err.Error(), errUsage.Error()+": ") }

// onceFull keeps of joined errors about a full disk only the first, and counts the others.
func onceFull(err error) (left int, kept error) {
	full := 0
	all := slices.DeleteFunc(separate(err), func(one error) bool {
		if errors.Is(one, syscall.ENOSPC) {
			full++
			return full > 1
		}
		return false
	})
	return max(full-1, 0), errors.Join(all...)
}

// separate returns the independent failures that err joins. One that wraps several errors
// (fmt.Errorf) is one failure: the text of a join is that of its errors, a line each.
func separate(err error) (all []error) {
	join, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var lines []string
	for _, one := range join.Unwrap() {
		lines = append(lines, one.Error())
		all = append(all, separate(one)...)
	}
	if err.Error() != strings.Join(lines, "\n") {
		return []error{err}
	}
	return all
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "lockbench",
		Short: "Does this Redis lock keep its promise, under which faults does it break, and what does it cost?",
		Long: "lockbench runs implementations of Redis locks under concurrent clients and injected faults, records what every\n" +
			"client saw, decides from that record whether the lock kept its promise, and tells the shortest story of how it broke.\n\n" +
			"The result goes to stdout and everything else to stderr.",
		Example:       "  lockbench suite\n  lockbench run --lock set-nx-ex --scenario pause-holder\n  lockbench list locks",
		SilenceErrors: true, SilenceUsage: true,
	}
	asked := root.Flags().BoolP("version", "v", false, "print the version")
	root.RunE = func(c *cobra.Command, _ []string) error {
		a.ran = true
		if *asked {
			b := newBuild(version, thisMachine().Build)
			if a.json() {
				return a.writeJSON(b)
			}
			_, err := fmt.Fprintln(a.out, b)
			return err
		}
		return c.Help()
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = exclusive
	root.DisableSuggestions = true // cobra's have a form of their own
	root.SetHelpCommand(newHelp(a))
	flags := root.PersistentFlags()
	flags.VarP(&a.format, "output", "o", "form of the result: text or json")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print only errors to stderr")
	completions(root, flags)
	for _, verb := range []func(*app) *cobra.Command{newRun, newSuite, newExplore, newBench, newCompare, newReplay, newRepro, newCheck, newList, newDoctor,
		newValidate, newReport, newLs, newPrune, newServe, newMerge} {
		c := verb(a)
		c.RunE = a.begin(c.RunE)
		completions(c, c.Flags())
		groupFlags(c)
		root.AddCommand(c)
	}
	root.AddCommand(&cobra.Command{Use: "exit-codes", Short: "What each exit code means", Long: exitCodesHelp},
		&cobra.Command{Use: "metrics", Short: "What --max, --min, --find-rate and slo can limit", Long: metricsHelp()})
	root.InitDefaultCompletionCmd()
	if c, _, err := root.Find([]string{"completion"}); err == nil { // which shows its help, and exits 0, for a shell that it does not know
		c.Args = oneOf(commandNames(c))
		c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
	}
	narrow := strings.NewReplacer("Flags.FlagUsages", "Flags.FlagUsagesWrapped "+strconv.Itoa(columns), "for more information about a command", "for more about a command")
	root.SetUsageTemplate(narrow.Replace(root.UsageTemplate()))
	for _, c := range append(root.Commands(), root) {
		c.Long = fold(c.Long)
	}
	return root
}

// fold wraps the paragraphs of a text at [columns]; those that begin with a space stay as they are.
func fold(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.HasPrefix(p, " ") {
			paragraphs[i] = strings.Join(report.Wrap(columns, "", p), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// newHelp makes "help COMMAND". Cobra's own exits 0 for a command that does not exist.
func newHelp(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Show the flags and examples of a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return fmt.Errorf("%w: there is no command %q%s", errUsage, strings.Join(args, " "), suggestCommand(c.Root(), args))
			}
			a.ran = true
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return commandNames(c.Root()), cobra.ShellCompDirectiveNoFileComp
		},
	}
}

func commandNames(root *cobra.Command) []string {
	return namesOf(root.Commands(), (*cobra.Command).Name)
}

// suggestCommand suggests a command in place of an unknown one, the first word of the arguments
// that is no flag.
func suggestCommand(root *cobra.Command, args []string) string {
	for _, word := range args {
		if !strings.HasPrefix(word, "-") {
			if slices.Contains(commandNames(root), word) {
				return ""
			}
			return foreign.Hint(word, commandNames(root))
		}
	}
	return ""
}

// flagError says what is wrong with a flag: it does not exist, has no value, or has one that it
// cannot take.
func flagError(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var missing *pflag.NotExistError
	switch {
	case errors.As(err, &value):
		want, known := map[string]string{ // by the type of a flag
			"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number", "bool": "true or false", "duration": "a time with its unit, such as 10s",
			"intSlice": "whole numbers separated by commas", "durationSlice": "times with their units, such as 0,2ms",
		}[value.GetFlag().Value.Type()]
		if !known {
			return fmt.Errorf("%w: --%s %s: %w", errUsage, value.GetFlag().Name, value.GetValue(), errors.Unwrap(err))
		}
		return fmt.Errorf("%w: --%s %s: want %s", errUsage, value.GetFlag().Name, value.GetValue(), want)
	case errors.As(err, &missing):
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		return fmt.Errorf("%w: %s: %w%s", errUsage, c.Name(), err, foreign.Hint("--"+missing.GetSpecifiedName(), known))
	}
	return fmt.Errorf("%w: %s: %w", errUsage, c.Name(), err)
}

// begin wraps a verb. Errors from then on are none of usage: cobra has parsed flags and arguments.
func (a *app) begin(verb func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) (err error) {
		a.ran = true
		a.line.live = a.errTerminal && !a.quiet && a.env("TERM") != "dumb"
		if f := c.Flags().Lookup(helpAll); f != nil && f.Changed {
			return c.Help()
		}
		// without a list that is given and empty, such as --locks "$LOCKS" with an unset variable, the
		// default would apply
		c.Flags().Visit(func(f *pflag.Flag) {
			if list, ok := f.Value.(pflag.SliceValue); ok && len(list.GetSlice()) == 0 {
				err = errors.Join(err, fmt.Errorf("%w: --%s is empty", errUsage, f.Name))
			}
		})
		if err != nil {
			return err
		}
		from, ignore := a.notify()
		done := make(chan struct{})
		var taking sync.WaitGroup
		taking.Go(func() {
			var late <-chan time.Time
			for {
				asked := false
				select {
				case <-from:
					asked = true
				case <-late:
				case <-done:
					return
				}
				late = a.interrupts.next(a, asked)
			}
		})
		defer func() {
			close(done)
			taking.Wait()
			ignore()
		}()
		return verb(c, args)
	}
}

// completions registers the words that shells complete for a command's flags.
func completions(c *cobra.Command, flags *pflag.FlagSet) {
	byName := map[string]func() []string{
		"lock": lockNames, "locks": func() []string { return append(lockNames(), planted) }, "workload": func() []string { return namesOf(workloads.All(), (*workloads.Workload).Name) },
		"scenario": scenarioNames, "scenarios": scenarioNames, "faults": sim.Placeable, "server": func() []string { return serverWords[:] },
	}
	flags.VisitAll(func(f *pflag.Flag) {
		known := byName[f.Name]
		if one, ok := f.Value.(*choice); ok {
			known = func() []string { return one.allowed }
		}
		if known != nil { // the only error is a flag that does not exist
			_ = c.RegisterFlagCompletionFunc(f.Name, func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return known(), cobra.ShellCompDirectiveNoFileComp
			})
		}
	})
}

// choice is a flag that takes one of several words.
type choice struct {
	value   string
	allowed []string
}

// newChoice makes a choice, with its default.
func newChoice[T ~string](value T, allowed ...T) choice {
	return choice{string(value), namesOf(allowed, func(word T) string { return string(word) })}
}

// String returns the word chosen.
func (c *choice) String() string { return c.value }

// Type names the value in help texts.
func (c *choice) Type() string { return strings.Join(c.allowed, "|") }

// Set takes one of the allowed words.
func (c *choice) Set(word string) error {
	if !slices.Contains(c.allowed, word) {
		return fmt.Errorf("must be one of %s", strings.Join(c.allowed, ", "))
	}
	c.value = word
	return nil
}

func (a *app) json() bool { return a.format.value == "json" }

// style follows https://no-color.org.
func (a *app) style() report.Style {
	return report.Style{Colour: a.outTerminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"}
}

// say prints a line to stderr, unless -q is given.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.line.print(fmt.Sprintf(format, args...))
	}
}
