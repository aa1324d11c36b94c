package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrShards is returned for shards that do not add up to one suite or one bench.
var ErrShards = errors.New("not the shards of one whole")

// Shard is one of Count equal parts of a plan: every Count-th item, from number Index on, both from
// 1.
type Shard struct {
	Index int    `json:"index"`
	Count int    `json:"count"`
	Of    int    `json:"of,omitempty"`   // items in the whole plan
	Plan  string `json:"plan,omitempty"` // digest of the whole plan
}

// ParseShard parses "3/8", the third of eight. Programs that count from 0, as a Job of Kubernetes
// does, name the last one "0/8".
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 0 || i > n {
		return Shard{}, errors.New("want i/n with 1 ≤ i ≤ n, such as 3/8; 0/n is n/n")
	}
	if i == 0 {
		i = n
	}
	return Shard{Index: i, Count: n}, nil
}

// String returns "3/8".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Has reports whether the shard has item i of the plan, from 0.
func (s Shard) Has(i int) bool { return i%s.Count == s.Index-1 }

// PlanDigest identifies a plan by its items, in their order.
func PlanDigest(items []string) string {
	plan := sha256.New()
	for _, item := range items {
		fmt.Fprintln(plan, item)
	}
	return hex.EncodeToString(plan.Sum(nil)[:8])
}

// MergeSuites joins the shards of a suite, in any order. The error is ErrShards if one is missing,
// given twice, or of another plan, server or seed.
func MergeSuites(parts []Suite) (Suite, error) {
	parts, rerun, notes, err := ordered(parts, func(s Suite) part { return part{s.Shard, s.Server, s.Seed, s.Rerun, s.Notes} })
	if err != nil {
		return Suite{}, err
	}
	first := parts[0]
	out := Suite{Server: first.Server, Seed: first.Seed, Start: first.Start, Environment: first.Environment, Rerun: rerun, Notes: notes}
	var ends time.Time
	var cells [][]Cell
	for _, p := range parts {
		cells = append(cells, p.Cells)
		out.Missing += p.Missing
		for lock, reached := range p.Reached {
			out.Reach(lock, reached)
		}
		if p.Start.Before(out.Start) {
			out.Start = p.Start
		}
		if end := p.Start.Add(p.Duration); end.After(ends) {
			ends = end
		}
	}
	out.Cells, out.Duration = inPlanOrder(first.Shard.Of, cells), ends.Sub(out.Start)
	out.Judge()
	return out, nil
}

// MergeBenches joins the shards of a bench, as MergeSuites does: each has some of the settings,
// measured whole on its own machine.
func MergeBenches(parts []Bench) (Bench, error) {
	parts, rerun, notes, err := ordered(parts, func(b Bench) part { return part{b.Shard, b.Server, b.Seed, b.Rerun, b.Notes} })
	if err != nil {
		return Bench{}, err
	}
	out := parts[0]
	out.Shard, out.Baseline, out.Gates, out.Rerun, out.Notes = nil, nil, nil, rerun, notes
	var settings [][]BenchSetting
	var cells []BenchCell
	var knees []Knee
	for _, p := range parts {
		settings, cells, knees = append(settings, p.Plan.Settings), append(cells, p.Cells...), append(knees, p.Knees...)
		out.Duration, out.Interrupted = max(out.Duration, p.Duration), out.Interrupted || p.Interrupted
		out.Gates = append(out.Gates, p.Gates...)
	}
	out.Plan.Settings = inPlanOrder(parts[0].Shard.Of, settings)
	place := func(s BenchSetting) int { return slices.Index(out.Plan.Settings, s) }
	slices.SortStableFunc(cells, func(a, b BenchCell) int { return place(a.Setting) - place(b.Setting) })
	slices.SortStableFunc(knees, func(a, b Knee) int { return place(a.Setting) - place(b.Setting) })
	out.Cells, out.Knees = cells, knees
	if len(parts) > 1 {
		out.Notes = append(out.Notes, "each shard measured its settings on its own machine: do not compare figures of two settings; the round trip is the first shard's")
	}
	out.Judge()
	return out, nil
}

// part is what the shards of a suite and of a bench have in common.
type part struct {
	shard  *Shard
	server string
	seed   uint64
	rerun  string
	notes  []string
}

// ordered returns the shards of one whole in their order, the command of the whole, and the notes of
// all.
func ordered[T any](parts []T, of func(T) part) (sorted []T, rerun string, notes []string, err error) {
	shards := make([]*Shard, len(parts))
	for i, one := range parts {
		first, p := of(parts[0]), of(one)
		shards[i] = p.shard
		if p.server != first.server || p.seed != first.seed {
			return nil, "", nil, fmt.Errorf("%w: one ran on %s with seed %d, another on %s with seed %d", ErrShards, first.server, first.seed, p.server, p.seed)
		}
	}
	if err := complete(shards); err != nil {
		return nil, "", nil, err
	}
	sorted = slices.Clone(parts)
	slices.SortFunc(sorted, func(a, b T) int { return of(a).shard.Index - of(b).shard.Index })
	for _, one := range sorted {
		p := of(one)
		for _, n := range p.notes {
			notes = append(notes, "shard "+p.shard.String()+": "+n)
		}
	}
	first := of(sorted[0])
	return sorted, strings.Replace(first.rerun, " --shard "+first.shard.String(), "", 1), notes, nil
}

// inPlanOrder restores the order of a plan of n items from the items of each shard. Shards that
// were interrupted have fewer.
func inPlanOrder[T any](n int, shards [][]T) (all []T) {
	for i := range n {
		from := shards[i%len(shards)]
		if at := i / len(shards); at < len(from) {
			all = append(all, from[at])
		}
	}
	return all
}

// complete checks that the shards are of one plan and that each is given once.
func complete(shards []*Shard) error {
	if len(shards) == 0 {
		return fmt.Errorf("%w: no shards", ErrShards)
	}
	seen := map[int]bool{}
	for _, s := range shards {
		switch {
		case s == nil || shards[0] == nil:
			return fmt.Errorf("%w: one ran without --shard and is whole", ErrShards)
		case s.Count != shards[0].Count || s.Of != shards[0].Of || s.Plan != shards[0].Plan:
			return fmt.Errorf("%w: %v and %v are of different plans; all must come from the same command and the same version", ErrShards, shards[0], s)
		case seen[s.Index]:
			return fmt.Errorf("%w: %v is given twice", ErrShards, s)
		}
		seen[s.Index] = true
	}
	var missing []string
	for i := 1; i <= shards[0].Count; i++ {
		if !seen[i] {
			missing = append(missing, Shard{Index: i, Count: shards[0].Count}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s missing", ErrShards, strings.Join(missing, ", "))
	}
	return nil
}
