package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/servers"
)

// planted is the word for all planted bugs in --locks.
const planted = "planted"

// suiteSeed is the default seed: a suite is compared with expectations, and is the same every day.
const suiteSeed = 1

// collectLate lets garbage grow to eight times the live heap while thousands of schedules are
// simulated. Nothing is measured there that a late collection could disturb, and otherwise
// collection takes a fifth of the time.
const collectLate = 800

type suiteFlags struct {
	locks, scenarios []string
	server, out      string
	baseline         string
	exact            bool   // every change since baseline fails
	store            string // where the suite is kept to compare with
	seed             uint64
	side             int
	clientsAs        choice
	keepAll          bool
	shard            shardFlag
	exec             execFlags
}

func newSuite(a *app) *cobra.Command {
	f := suiteFlags{clientsAs: newClientsAs()}
	c := &cobra.Command{
		Use:   "suite",
		Short: "Run every lock in each scenario that has an expectation of it",
		Long: "suite runs locks × scenarios, each cell on servers of its own and several side by side, and compares each with what the\n" +
			"catalogue expects of it: that the lock holds, or that it breaks in a known way. Scenarios of which it expects nothing are left out. It ends in a matrix. Beside the locks it runs\n" +
			"the planted bugs, each where it must show, and prints how many it caught; a suite that misses one fails.",
		Example: "  lockbench suite\n  lockbench suite --locks token,set-nx-ex --scenarios steady,pause-holder\n  lockbench suite --locks planted -o json\n" +
			"  lockbench suite --server process --baseline results/baseline/suite-sim.json",
		Args: nothing,
		RunE: func(c *cobra.Command, _ []string) error { return a.suite(c.Context(), f, c.Flags()) },
	}
	s := c.Flags()
	s.StringSliceVar(&f.locks, "locks", nil, "which locks; 'planted' means the planted bugs (default: all, and those)")
	s.StringSliceVar(&f.scenarios, "scenarios", nil, "which scenarios (default: all)")
	a.serverFlag(c, &f.server, "sim", "")
	s.Uint64Var(&f.seed, "seed", suiteSeed, "random seed")
	s.StringVar(&f.baseline, "baseline", "", "a stored suite (suite.json) to compare with: exit 1 when a cell got worse or is gone")
	s.BoolVar(&f.exact, "exact", false, "with --baseline: exit 1 when a cell changed at all, as none does in the simulator unless the code did")
	s.StringVar(&f.store, "store", "", "a file to write the suite to, without times and paths, for a later --baseline")
	s.StringVar(&f.out, "out", results.DefaultBase, "where run directories are made")
	s.IntVar(&f.side, "side-by-side", 0, "how many cells run at once; 0: one for each processor in the simulator, four on real servers, which mostly wait")
	s.Var(&f.clientsAs, "clients-as", clientsAsUsage)
	s.BoolVar(&f.keepAll, "keep-all", false, "keep the run directory of every cell, not only of those that are not as expected")
	s.Var(&f.shard, "shard", "i/n: run the i-th of n equal parts; 'lockbench merge' joins them")
	f.exec.register(s)
	return c
}

// sideBySide returns how many cells run at once.
func (f suiteFlags) sideBySide(p servers.Provider) int {
	switch {
	case f.side > 0:
		return f.side
	case harness.Simulates(p):
		return runtime.GOMAXPROCS(0)
	}
	return 4 * runtime.GOMAXPROCS(0)
}

// variants returns the named locks, or all.
func (f *suiteFlags) variants(ctx context.Context) ([]impls.Variant, error) {
	if f.exec.given() {
		v, err := f.exec.probe(ctx)
		return []impls.Variant{v}, err
	}
	if len(f.locks) == 0 {
		return slices.Concat(catalogue.Locks(), catalogue.Planted()), nil
	}
	var out []impls.Variant
	for _, name := range f.locks {
		if name == planted {
			out = append(out, catalogue.Planted()...)
			continue
		}
		v, err := variant(name, planted)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: --locks %s: there are none", errUsage, strings.Join(f.locks, ","))
	}
	return out, nil
}

// plan returns the named scenarios, or all for which the catalogue has expectations.
func (f suiteFlags) plan(variants []impls.Variant) ([]scenarios.Scenario, error) {
	if len(f.scenarios) == 0 {
		return slices.DeleteFunc(scenarios.Builtin(), func(s scenarios.Scenario) bool { return !expected(s.Name, variants) }), nil
	}
	return loadEach(f.scenarios, scenarios.Load)
}

func expected(scenario string, variants []impls.Variant) bool {
	return slices.ContainsFunc(variants, func(v impls.Variant) bool {
		_, ok := v.Expect[scenario]
		return ok
	})
}

func (a *app) suite(ctx context.Context, f suiteFlags, flags *pflag.FlagSet) error {
	if err := f.exec.check(flags, "locks"); err != nil {
		return err
	}
	if f.side < 0 {
		return fmt.Errorf("%w: --side-by-side %d: must not be negative", errUsage, f.side)
	}
	word, err := f.exec.server(f.server, flags)
	if err != nil {
		return err
	}
	in, err := f.inputs(ctx)
	if err != nil {
		return err
	}
	p, why, err := a.provider(ctx, word, f.exec.providers(a.providers()))
	if err != nil {
		return err
	}
	a.announce(p, why)
	if harness.Simulates(p) {
		defer debug.SetGCPercent(debug.SetGCPercent(collectLate))
	}
	environment := results.CaptureEnvironment(ctx, thisMachine())
	path, err := a.createFor(f.store, f.out, "suite")
	if err != nil {
		return err
	}
	dir := &suiteDir{path: path, all: f.keepAll}
	lacks := lacking{of: map[string]error{}}
	ctx, interrupts := a.listen(ctx)
	suite, err := a.suiteRunner(ctx, harness.SuiteConfig{
		Variants: in.variants, Scenarios: in.plan, Server: p.Name(), Seed: f.seed, Side: f.sideBySide(p), Rerun: rerun(flags, "suite", p, f.seed),
		Cell: lacks.watch(a.cell(p, why, f, dir, &environment)), Stop: interrupts.stop.Done(), Now: a.now, Shard: f.shard.given,
		Each: func(done, all int, c results.Cell) { dir.done(c); lacks.ended(c); a.suiteProgress(done, all, c) },
	})
	a.line.clear()
	if err != nil {
		return errors.Join(err, a.dropEmpty(f.out, dir.path), interrupts.end())
	}
	if in.base != nil {
		suite.Baseline = f.baseline
		suite.Against(*in.base, len(f.locks)+len(f.scenarios) == 0 && f.shard.given == nil)
		if f.exact {
			suite.Exact()
		}
	}
	suite.Environment = &environment
	return errors.Join(a.endSuite(dir, suite), a.storeSuite(f.store, suite), verdictOf(suite), lacks.errors(), interrupts.end())
}

// suiteInputs are what a suite runs, and the stored suite that it is compared with; nil: none.
type suiteInputs struct {
	variants []impls.Variant
	plan     []scenarios.Scenario
	base     *results.Suite
}

func (f *suiteFlags) inputs(ctx context.Context) (in suiteInputs, err error) {
	if in.variants, err = f.variants(ctx); err != nil {
		return in, err
	}
	if in.plan, err = f.plan(in.variants); err != nil {
		return in, err
	}
	if f.exact && f.baseline == "" {
		return in, fmt.Errorf("%w: --exact needs --baseline", errUsage)
	}
	in.base, err = stored(f.baseline, results.LoadSuite)
	return in, err
}

func (a *app) endSuite(dir *suiteDir, suite results.Suite) error {
	err := errors.Join(dir.saveScenes(suite), dir.settle(&suite))
	r := suiteRecord(suite, dir.path)
	return errors.Join(err, results.SaveSuite(dir.path, suite), r.save(), a.show(r), a.summarize(r.forms["md"]))
}

// stored loads the suite or bench to compare with; nil if none was named.
func stored[T any](path string, load func(string) (T, error)) (*T, error) {
	if path == "" {
		return nil, nil
	}
	v, err := load(path)
	if err != nil {
		return nil, asInput(err)
	}
	return &v, nil
}

// storeSuite writes the suite to the file of --store, if any. A later --baseline must find every
// cell there.
func (a *app) storeSuite(path string, s results.Suite) error {
	switch {
	case path == "":
		return nil
	case s.Missing > 0:
		a.say("--store %s: not written, because %s were not run", path, report.Plural(s.Missing, "cell"))
		return nil
	}
	return results.StoreSuite(path, s)
}

// cellRunner makes one run of a suite and returns its result and directory.
type cellRunner = func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (results.Result, string, error)

func (a *app) cell(p servers.Provider, why string, f suiteFlags, dir *suiteDir, environment *results.Environment) cellRunner {
	return func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (results.Result, string, error) {
		e := harness.Experiment{Variant: v, Scenario: s.Resolve(f.seed, v.Topology), Provider: p, Chosen: why, Seed: f.seed, Base: dir.path, As: harness.ClientsAs(f.clientsAs.value),
			Argv: a.argv, Now: a.now, Random: a.random, Environment: environment}
		e.Rerun = results.CommandLine(f.rerunCell(v.Name, s.Name, p, a.program))
		e.Enough, e.Subject = enough(v, s), f.exec.fleet
		out, err := a.runner(ctx, e)
		if out == nil {
			_, err = onceFull(err)
			return results.Result{}, "", err
		}
		dir.show(cellOf(v, s.Name, out.Result), out)
		if err != nil || dir.keepsRun(v, s.Name, out.Result) {
			err = errors.Join(err, saveViews(out))
		}
		_, err = onceFull(err)
		return out.Result, out.Dir, err
	}
}

// rerunCell returns the command that repeats one cell.
func (f suiteFlags) rerunCell(lock, scenario string, p servers.Provider, program programFlags) []string {
	which := []string{"--lock", lock}
	if f.exec.given() {
		which = f.exec.words()
	}
	words := append([]string{"lockbench", "run"}, append(which, "--scenario", scenario, "--server", p.Name(), "--seed", fmt.Sprint(f.seed))...)
	if f.clientsAs.value == string(harness.Processes) {
		words = append(words, "--clients-as", f.clientsAs.value)
	}
	return append(words, program.words()...)
}

// enough returns what ends the cell of a planted bug early: all expected breaks were observed. It
// is nil for a lock, of which every schedule counts.
func enough(v impls.Variant, s scenarios.Scenario) func(checker.Verdict) bool {
	if v.Planted == nil {
		return nil
	}
	want := v.Expect[s.Name]
	return func(seen checker.Verdict) bool {
		return results.Shows(results.Result{Properties: seen.Properties}, want)
	}
}

// suiteProgress updates the status line, and prints cells that differ from their expectation above
// it.
func (a *app) suiteProgress(done, all int, c results.Cell) {
	if c.Verdict == "fail" || c.Verdict == "inconclusive" {
		a.say("%s × %s: %s: %s", c.Lock, c.Scenario, c.Verdict, c.Why)
	}
	a.line.show(fmt.Sprintf("%d of %d cells  %s × %s", done, all, c.Lock, c.Scenario))
}
