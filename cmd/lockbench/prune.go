package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

func newPrune(a *app) *cobra.Command {
	var base string
	var keep int
	var dry bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Delete old runs, suites and benches",
		Long: "prune keeps the latest in the folder of runs, deletes the others, and says which. It deletes nothing but runs, suites, benches\n" +
			"and findings of explore, and follows no links. What is in progress or cannot be read it leaves alone, and says so.",
		Example: "  lockbench prune --keep 5\n  lockbench prune --keep 0 --dry-run",
		Args:    nothing,
		RunE:    func(*cobra.Command, []string) error { return a.prune(base, keep, dry) },
	}
	s := c.Flags()
	s.StringVar(&base, "out", results.DefaultBase, "the folder of runs")
	s.IntVar(&keep, "keep", 20, "how many are kept, the latest")
	s.BoolVar(&dry, "dry-run", false, "list what would be deleted, and delete nothing")
	return c
}

func (a *app) prune(base string, keep int, dry bool) error {
	if keep < 0 {
		return fmt.Errorf("%w: --keep %d: must not be negative", errUsage, keep)
	}
	all, err := storedIn(base)
	if err != nil {
		return err
	}
	keep = min(keep, len(all))
	type spared struct {
		Dir string `json:"dir"`
		Why string `json:"why"` // in progress, or what is damaged
	}
	out := struct {
		Deleted []string `json:"deleted"`
		Kept    int      `json:"kept"`
		Spared  []spared `json:"spared,omitempty"` // old enough to be deleted, and not deleted
		DryRun  bool     `json:"dry_run,omitempty"`
	}{Deleted: []string{}, Kept: keep, DryRun: dry}
	for _, r := range all[keep:] {
		if r.Busy || r.Problem != "" {
			out.Spared = append(out.Spared, spared{r.Dir, cmp.Or(r.Problem, r.State())})
			continue
		}
		var failed error
		if !dry {
			failed = os.RemoveAll(r.Dir)
		}
		if err = errors.Join(err, failed); failed == nil {
			out.Deleted = append(out.Deleted, r.Dir)
		}
	}
	verb := "would delete"
	if !dry {
		verb, err = "deleted", errors.Join(err, dropDangling(filepath.Join(base, "latest")))
	}
	if a.json() {
		return errors.Join(err, a.writeJSON(out))
	}
	var b strings.Builder
	for _, dir := range out.Deleted {
		fmt.Fprintln(&b, verb, report.Clean(dir))
	}
	for _, s := range out.Spared {
		fmt.Fprintf(&b, "left alone %s: %s\n", report.Clean(s.Dir), report.Clean(s.Why))
	}
	_, printed := fmt.Fprintf(a.out, "%s%s %d, kept %d\n", &b, verb, len(out.Deleted), out.Kept+len(out.Spared))
	return errors.Join(err, printed)
}

// dropEmpty removes the directory of what was abandoned, if nothing was saved in it, and the link
// that then leads nowhere.
func (a *app) dropEmpty(base, dir string) error {
	if os.Remove(dir) != nil { // something is in it
		a.say("%s has what was recorded", dir)
		return nil
	}
	a.say("nothing was recorded that could be kept")
	return dropDangling(filepath.Join(base, "latest"))
}

func dropDangling(link string) error {
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || exists(link) {
		return nil
	}
	return os.Remove(link)
}
