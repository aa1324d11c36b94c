package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/repro"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

// reproSeed is the default seed: a reproduction shows the same every day.
const reproSeed = 1

// everyBug is the word that stands for all bugs.
const everyBug = "all"

type reproFlags struct {
	server, out string
	seed        uint64
	exec        execFlags
}

func newRepro(a *app) *cobra.Command {
	var f reproFlags
	c := &cobra.Command{
		Use:   "repro [NAME|all]",
		Short: "Reproduce a named bug; without a name, list them",
		Long: "repro shows one bug: a claim of a published recipe that does not hold, a case of the argument about Redlock, or a bug that a\n" +
			"library was reported to have. It exits 0 only if the violation that the bug is named after was observed.\n" +
			"Without a name it lists them; 'all' runs every one that the server can show.\n\n" +
			"Bugs with a scenario run on real servers as well; those that are found by searching need the simulator.",
		Example: "  lockbench repro\n  lockbench repro plain-del-mis-unlock\n  lockbench repro K5 --server process\n  lockbench repro all -o json",
		Args:    takes("takes one NAME or all", 0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.list(listOf("bugs", "", []string{"BUG", "WHAT HAPPENS"}, repro.Bugs(), func(b repro.Bug) (any, []string) {
					item := struct {
						repro.Bug
						Command string `json:"command"`
					}{b, b.Command()}
					return item, []string{b.Name, b.What + " (" + b.Source + ")"}
				}))
			}
			return a.repro(c.Context(), args[0], f, c.Flags())
		},
		ValidArgs: append(bugNames(), everyBug),
	}
	s := c.Flags()
	a.serverFlag(c, &f.server, "sim", "")
	s.Uint64Var(&f.seed, "seed", reproSeed, "random seed")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	f.exec.register(s)
	return c
}

func bugNames() []string {
	return namesOf(repro.Bugs(), func(b repro.Bug) string { return b.Name })
}

func (a *app) repro(ctx context.Context, name string, f reproFlags, flags *pflag.FlagSet) error {
	if err := f.exec.check(flags, ""); err != nil {
		return err
	}
	wanted := repro.Bugs()
	if name != everyBug {
		b, ok := repro.Find(name)
		if !ok {
			return fmt.Errorf("%w: unknown bug %q%s", errUsage, name, cmp.Or(foreign.Hint(name, bugNames()), "; 'lockbench repro' lists them"))
		}
		wanted = []repro.Bug{b}
	}
	cfg, err := a.reproConfig(ctx, name, f, flags)
	if err != nil {
		return err
	}
	_, stop := a.listen(ctx)
	var all []results.Repro
	for i, b := range wanted {
		if stop.Err() != nil || name == everyBug && b.Searches() && !harness.Simulates(cfg.Base.Provider) {
			continue
		}
		a.line.show(fmt.Sprintf("%d of %d  %s", i+1, len(wanted), b.Name))
		r, runErr := repro.Run(stop, b, cfg)
		if errors.Is(runErr, repro.ErrSimOnly) {
			runErr = asInput(runErr)
		}
		if err = errors.Join(err, runErr); runErr != nil {
			continue
		}
		if f.exec.given() { // the bug's own command runs the lock of the catalogue
			r.Command = cfg.Base.Rerun
		}
		if all = append(all, r); !r.Reproduced {
			err = errors.Join(err, errViolated)
		}
	}
	a.line.clear()
	return errors.Join(err, a.showRepro(all, name == everyBug), a.ended())
}

func (a *app) reproConfig(ctx context.Context, name string, f reproFlags, flags *pflag.FlagSet) (c repro.Config, err error) {
	if f.server, err = f.exec.server(f.server, flags); err != nil {
		return c, err
	}
	p, why, err := a.provider(ctx, f.server, f.exec.given())
	if err != nil {
		return c, err
	}
	base := a.experiment(p, why, f.out)
	base.Rerun = results.CommandLine(append([]string{"lockbench", "repro", name}, givenFlags(flags)...))
	if f.exec.given() {
		if base.Variant, err = f.exec.probe(ctx); err != nil {
			return c, err
		}
		base.Subject = f.exec.fleet
	}
	return repro.Config{Base: base, Seed: f.seed, Run: a.kept,
		Explore: func(ctx context.Context, c search.Config) (search.Result, error) {
			return a.explorer(ctx, c, func(s search.Stats) { a.line.show(exploreProgress(c, s)) })
		},
		Breaks: func(ctx context.Context, t sim.Tape) (bool, []string, error) {
			s := sim.New(catalogue.Known{})
			defer s.Close() // never fails
			return search.Breaks(ctx, s, t)
		}}, nil
}

// kept makes a run and saves its reports.
func (a *app) kept(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
	out, err := a.runner(ctx, e)
	if err == nil {
		err = saveViews(out)
	}
	return out, err
}

// showRepro shows one bug with its story, and several as a table.
func (a *app) showRepro(all []results.Repro, table bool) error {
	switch {
	case a.json() && table:
		return a.writeJSON(append([]results.Repro{}, all...))
	case len(all) == 0:
		return nil
	case !table:
		return show(a, all[0], report.Repro)
	}
	rows, reproduced := [][]string{{"BUG", "REPRODUCED", "IN", "OBSERVED"}}, 0
	for _, r := range all {
		verdict, observed := "NO", strings.Join(r.Observed, " ")
		if r.Reproduced {
			verdict = "yes"
			reproduced++
		} else if observed = r.Why; len(r.Observed) > 0 {
			observed += "; there was " + strings.Join(r.Observed, " ")
		}
		rows = append(rows, []string{r.Name, verdict, fmt.Sprintf("%.1f s", r.Seconds), observed})
	}
	return a.table(append(rows, []string{fmt.Sprintf("%d of %d reproduced on %s", reproduced, len(all), all[0].Server)})...)
}
