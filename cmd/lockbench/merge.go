package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/results"
)

func newMerge(a *app) *cobra.Command {
	var out, store, baseline string
	c := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Join the shards of a suite to the whole",
		Long: "merge joins what 'suite --shard 1/n' to 'n/n' left, in directories or as the output of -o json, judges the whole anew and shows\n" +
			"it as 'suite' would have. It refuses shards that are missing, that come twice, or that are of different plans. Runs stay where\n" +
			"they are.",
		Example: "  lockbench merge shard-1 shard-2 shard-3\n  lockbench merge shards/* --store suite.json",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(_ *cobra.Command, args []string) error { return a.merge(args, out, store, baseline) },
	}
	s := c.Flags()
	s.StringVar(&out, "out", results.DefaultBase, "where the directory of the whole is made")
	s.StringVar(&store, "store", "", "a file to write the suite to, without what differs from day to day")
	s.StringVar(&baseline, "baseline", "", "a stored suite to compare with: exit 1 when a cell got worse or is gone")
	return c
}

func (a *app) merge(paths []string, out, store, baseline string) error {
	if len(paths) == 0 {
		return fmt.Errorf("%w: lockbench merge takes the directories of the shards, and was given none", errUsage)
	}
	parts := make([]results.Suite, len(paths))
	for i, path := range paths {
		var err error
		if parts[i], err = results.LoadSuite(path); err != nil {
			return asInput(err)
		}
	}
	whole, err := results.MergeSuites(parts)
	if err != nil {
		return asInput(err)
	}
	base, err := storedSuite(baseline)
	if err != nil {
		return err
	}
	if base != nil {
		whole.Baseline = baseline
		whole.Against(*base, whole.Missing == 0)
	}
	dir, err := a.createSuite(out, true)
	if err != nil {
		return err
	}
	return errors.Join(a.endSuite(dir, whole), storeSuite(store, whole), verdictError(whole.Verdict))
}
