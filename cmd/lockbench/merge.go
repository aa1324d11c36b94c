package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/bench"
	"github.com/lockbench/lockbench/report/page"
	"github.com/lockbench/lockbench/results"
)

func newMerge(a *app) *cobra.Command {
	var f mergeFlags
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Join the shards of a suite or a bench to the whole",
		Long: "merge joins what 'suite --shard 1/n' to 'n/n' left, or 'bench --shard', in directories or as the output of -o json, judges the\n" +
			"whole anew and shows it as 'suite' or 'bench' would have. It refuses shards that are missing, that come twice, or that are of\n" +
			"different plans. Runs stay where they are.",
		Example: "  lockbench merge shard-1 shard-2 shard-3\n  lockbench merge shards/* --store suite.json",
		Args:    takes("needs the directories or files of the shards", 1, math.MaxInt),
		RunE: func(_ *cobra.Command, paths []string) error {
			first, err := loadCompared(paths[0])
			if err != nil {
				return err
			}
			switch first.(type) {
			case results.Suite:
				return a.mergeSuites(paths, f)
			case results.Bench:
				return a.mergeBenches(paths, f)
			}
			return fmt.Errorf("%w: %s is %s: only suites and benches have shards", errUsage, paths[0], kindOf(first))
		},
	}
	s := c.Flags()
	s.StringVar(&f.out, "out", results.DefaultBase, "where the directory of the whole is made")
	s.StringVar(&f.store, "store", "", "a file to write the whole to: of a suite, without times and paths")
	s.StringVar(&f.baseline, "baseline", "", "a stored suite or bench to compare with: exit 1 when a cell got worse or is gone, 2 when a lock became slower")
	return c
}

type mergeFlags struct{ out, store, baseline string }

// mergeAll joins the shards at the paths, and loads the baseline if there is one.
func mergeAll[T any](paths []string, baseline string, load func(string) (T, error), merge func([]T) (T, error)) (whole T, base *T, err error) {
	parts, err := loadEach(paths, load)
	if err != nil {
		return whole, nil, err
	}
	if whole, err = merge(parts); err != nil {
		return whole, nil, asInput(err)
	}
	base, err = stored(baseline, load)
	return whole, base, err
}

func (a *app) mergeSuites(paths []string, f mergeFlags) error {
	whole, base, err := mergeAll(paths, f.baseline, results.LoadSuite, results.MergeSuites)
	if err != nil {
		return err
	}
	suiteAgainst(&whole, base, f.baseline, whole.Missing == 0)
	path, err := a.createFor(f.store, f.out, "suite")
	if err != nil {
		return err
	}
	scenes := make([]string, len(paths)) // where the violations of the shards lie
	for i, shard := range paths {
		file, _ := results.Stored(shard, results.SuiteFile)
		scenes[i] = filepath.Join(filepath.Dir(file), results.ScenesFile)
	}
	err = results.SaveFile(filepath.Join(path, results.ScenesFile), func(w io.Writer) error { return page.JoinScenes(w, scenes) })
	return errors.Join(err, a.endSuite(path, whole), a.storeSuite(f.store, whole), verdictError(whole.Verdict))
}

func (a *app) mergeBenches(paths []string, f mergeFlags) error {
	whole, base, err := mergeAll(paths, f.baseline, results.LoadBench, results.MergeBenches)
	if err != nil {
		return err
	}
	against(&whole, base, f.baseline, bench.CompareOptions{})
	whole.Judge()
	dir, err := a.createFor(f.store, f.out, "bench")
	if err != nil {
		return err
	}
	return errors.Join(a.endBench(whole, dir, f.store), benchError(whole))
}
