package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/scenarios"
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
	s.Var(&f.clientsAs, "clients-as", clientsAsUsage)
	s.BoolVar(&f.keepAll, "keep-all", false, "keep the run directory of every cell, not only of those that are not as expected")
	s.Var(&f.shard, "shard", "i/n: run the i-th of n equal parts; 'lockbench merge' joins them")
	f.exec.register(s)
	return c
}

func (a *app) suite(ctx context.Context, f suiteFlags, flags *pflag.FlagSet) error {
	c, base, err := f.config(ctx, flags)
	if err != nil {
		return err
	}
	p, why, err := a.provider(ctx, f.server, f.exec.given())
	if err != nil {
		return err
	}
	c.Side = 4 * runtime.GOMAXPROCS(0) // cells on real servers mostly wait
	if harness.Simulates(p) {
		c.Side = runtime.GOMAXPROCS(0)
		defer debug.SetGCPercent(debug.SetGCPercent(collectLate))
	}
	environment := results.CaptureEnvironment(ctx, thisMachine())
	path, err := a.createFor(f.store, f.out, "suite")
	if err != nil {
		return err
	}
	dir := &suiteDir{path: path, all: f.keepAll, dirs: map[string]string{}, scenes: map[string]*page.Scene{}, lacks: map[string]error{}}
	e := a.experiment(p, why, path)
	e.As, e.Environment, e.Subject, e.Checkout, e.Aside = harness.ClientsAs(f.clientsAs.value), &environment, f.exec.fleet, "", true
	ctx, stop := a.listen(ctx)
	c.Server, c.Rerun, c.Stop, c.Now = p.Name(), rerun(flags, "suite", p, f.seed), stop.Done(), a.now

	c.Keep = dir.keep
	c.Run = func(ctx context.Context, v impls.Variant, s scenarios.Scenario) (*harness.Outcome, error) {
		of := e
		of.Variant, of.Scenario, of.Seed = v, s.Resolve(f.seed, v.Topology), f.seed
		return a.cell(ctx, of, f)
	}
	c.Each = func(done, all int, c results.Cell) {
		if report.Unexpected(c) {
			a.say("%s × %s: %s: %s", c.Lock, c.Scenario, c.Verdict, c.Why)
		}
		a.line.show(fmt.Sprintf("%d of %d cells  %s × %s", done, all, c.Lock, c.Scenario))
	}
	suite, err := a.suiteRunner(ctx, c)
	a.line.clear()
	if err != nil {
		return errors.Join(err, a.dropEmpty(f.out, path), a.ended())
	}
	suiteAgainst(&suite, base, f.baseline, len(f.locks)+len(f.scenarios) == 0 && f.shard.given == nil)
	if f.exact {
		suite.Exact()
	}
	suite.Environment = &environment
	odd := slices.ContainsFunc(suite.Cells, func(c results.Cell) bool { return c.Verdict == checker.Inconclusive })
	return errors.Join(dir.saveScenes(suite), errors.Join(dir.errs...), a.endSuite(path, suite), a.storeSuite(f.store, suite),
		endError(suite.Verdict, false, suite.Missing > 0 && !odd), lacking(dir.lacks), a.ended())
}

// config returns what a suite runs, and the stored suite that it is compared with; nil: none.
func (f *suiteFlags) config(ctx context.Context, flags *pflag.FlagSet) (c harness.SuiteConfig, base *results.Suite, err error) {
	if err := f.exec.check(flags, "locks"); err != nil {
		return c, nil, err
	}
	if f.exact && f.baseline == "" {
		return c, nil, fmt.Errorf("%w: --exact needs --baseline", errUsage)
	}
	if f.server, err = f.exec.server(f.server, flags); err != nil {
		return c, nil, err
	}
	c = harness.SuiteConfig{Seed: f.seed, Shard: f.shard.given}
	switch {
	case f.exec.given():
		v, err := f.exec.probe(ctx)
		if err != nil {
			return c, nil, err
		}
		c.Variants = []impls.Variant{v}
	case len(f.locks) == 0:
		c.Variants = slices.Concat(catalogue.Locks(), catalogue.Planted())
	}
	for _, name := range f.locks {
		if name == planted {
			c.Variants = append(c.Variants, catalogue.Planted()...)
			continue
		}
		v, err := variant(name, planted)
		if err != nil {
			return c, nil, err
		}
		c.Variants = append(c.Variants, v)
	}
	if c.Scenarios, err = loadEach(f.scenarios, scenarios.Load); err != nil {
		return c, nil, err
	}
	if len(f.scenarios) == 0 { // all of which the catalogue expects something
		c.Scenarios = slices.DeleteFunc(scenarios.Builtin(), func(s scenarios.Scenario) bool {
			return !slices.ContainsFunc(c.Variants, func(v impls.Variant) bool {
				_, expected := v.Expect[s.Name]
				return expected
			})
		})
	}
	base, err = stored(f.baseline, results.LoadSuite)
	return c, base, err
}

// suiteAgainst compares a suite with a stored one, if there is one; whole: it lacks no cell by
// choice.
func suiteAgainst(s *results.Suite, base *results.Suite, path string, whole bool) {
	if base != nil {
		s.Baseline = path
		s.Against(*base, whole)
	}
}

// endSuite saves a suite and its reports in its directory, and shows it.
func (a *app) endSuite(dir string, suite results.Suite) error {
	r := suiteRecord(suite, dir)
	return errors.Join(results.SaveSuite(dir, suite), r.save(), a.show(r), a.summarize(r.forms["md"]))
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

// cell makes one run of a suite.
func (a *app) cell(ctx context.Context, e harness.Experiment, f suiteFlags) (*harness.Outcome, error) {
	v, s := e.Variant, e.Scenario
	again := append([]string{"lockbench", "run"}, f.exec.words()...)
	if !f.exec.given() {
		again = append(again, "--lock", v.Name)
	}
	again = append(again, "--scenario", s.Name, "--server", e.Provider.Name(), "--seed", fmt.Sprint(f.seed))
	if e.As == harness.Processes {
		again = append(again, "--clients-as", f.clientsAs.value)
	}
	if program := a.reach.program(); program != "" {
		again = append(again, "--"+program, a.reach.binary+a.reach.image)
	}
	e.Rerun = results.CommandLine(again)
	if want := v.Expect[s.Name]; v.Planted != nil { // ends when all expected breaks were observed; of a lock, every schedule counts
		e.Enough = func(seen checker.Verdict) bool {
			return results.Shows(results.Result{Properties: seen.Properties}, want)
		}
	}
	return a.runner(ctx, e)
}

// suiteDir is the directory of a suite in progress. It keeps the runs that do not end as expected;
// with --keep-all, all.
type suiteDir struct {
	path string
	all  bool // --keep-all

	mu     sync.Mutex             // cells run side by side; protects what follows
	dirs   map[string]string      // of the last run of a cell, by its name; "": not kept
	scenes map[string]*page.Scene // one of its violations, for the suite's page; nil: none
	lacks  map[string]error       // of the environment, why it has no verdict
	errs   []error
}

func cellName(c results.Cell) string { return c.Lock + " × " + c.Scenario }

// keep saves the reports of a run that is kept, and deletes any other, and the earlier run of the
// same cell.
func (d *suiteDir) keep(c results.Cell, out *harness.Outcome, err error) (dir string) {
	var scene *page.Scene
	var lacks, failed error
	if _, err = onceFull(err); c.Observed == results.NothingObserved && exitCode(err) == exitEnvironment {
		lacks = err
	}
	if out != nil && out.Verdict != nil && len(out.Verdict.Violations) > 0 {
		// of the violations that decide the cell's ending, the one with the shortest story
		property := c.Worst().Property
		rank := func(v checker.Violation) int {
			switch {
			case len(v.Story) == 0:
				return 2
			case v.Property != property:
				return 1
			}
			return 0
		}
		best := slices.MinFunc(out.Verdict.Violations, func(a, b checker.Violation) int {
			return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.Story), len(b.Story)), cmp.Compare(a.At, b.At))
		})
		s := page.NewScene(&best, c.Lock, c.Scenario, out.Record.Commands)
		scene = &s
	}
	switch {
	case out == nil || out.Dir == "":
	case d.all || report.Unexpected(c):
		dir, failed = out.Dir, saveViews(out)
	default:
		failed = os.RemoveAll(out.Dir)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	at := cellName(c)
	if earlier := d.dirs[at]; earlier != "" && !d.all {
		failed = errors.Join(failed, os.RemoveAll(earlier))
	}
	d.dirs[at], d.scenes[at], d.errs = dir, scene, append(d.errs, failed)
	if delete(d.lacks, at); lacks != nil {
		d.lacks[at] = lacks
	}
	return dir
}

// saveScenes writes the violations of the cells, in the order of the cells.
func (d *suiteDir) saveScenes(s results.Suite) error {
	var all []page.Scene
	for _, c := range s.Cells {
		if scene := d.scenes[cellName(c)]; scene != nil {
			all = append(all, *scene)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return results.SaveFile(filepath.Join(d.path, results.ScenesFile), func(w io.Writer) error { return page.WriteScenes(w, all) })
}

// createFor makes the directory of a suite or a bench, before anything runs that could not be saved
// there or in the file of --store.
func (a *app) createFor(store, base, kind string) (string, error) {
	if store != "" {
		switch info, err := os.Stat(store); {
		case err == nil && info.IsDir():
			return "", fmt.Errorf("%w: --store %s: is a directory", errUsage, store)
		case err != nil || info.Mode().IsRegular(): // else, a device or a pipe, it is written when there is something to write
			f, err := os.CreateTemp(filepath.Dir(store), "."+filepath.Base(store)+".*")
			var at *fs.PathError
			switch {
			case errors.As(err, &at): // its path is the temporary file's
				return "", &fs.PathError{Op: "--store", Path: store, Err: at.Err}
			case err != nil:
				return "", fmt.Errorf("--store %s: %w", store, err)
			}
			if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
				return "", err
			}
		}
	}
	id, err := results.NewID(a.random)
	if err != nil {
		return "", err
	}
	d, err := results.Create(base, results.Name(a.now(), id, kind), false)
	if err != nil {
		return "", err
	}
	return d.Path(), nil
}
