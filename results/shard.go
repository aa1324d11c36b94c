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

// Shard is one of Count equal parts of a plan: every Count-th item, starting with number Index, both from 1. Machines can run their shards
// without coordination.
type Shard struct {
	Index int    `json:"index"`
	Count int    `json:"count"`
	Of    int    `json:"of,omitempty"`   // items in the whole plan
	Plan  string `json:"plan,omitempty"` // digest of the whole plan
}

// ParseShard parses "3/8", the third of eight. Programs that count from 0, as a Job of Kubernetes does, name the last one "0/8".
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 0 || i > n {
		return Shard{}, fmt.Errorf("shard %q: expected i/n with 1 ≤ i ≤ n, such as 3/8, or 0/n, which is n/n", text)
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

// Size returns how many items the shard has.
func (s Shard) Size() int { return (s.Of - s.Index + s.Count) / s.Count }

// MergeSuites joins the shards of a suite, given in any order, and sets its verdict. The error is ErrShards if a shard is missing, is given
// twice, or is of another plan, server or seed.
func MergeSuites(parts []Suite) (Suite, error) {
	shards := make([]*Shard, len(parts))
	for i, p := range parts {
		shards[i] = p.Shard
		if p.Server != parts[0].Server || p.Seed != parts[0].Seed {
			return Suite{}, fmt.Errorf("%w: one ran on %s with seed %d, another on %s with seed %d", ErrShards,
				parts[0].Server, parts[0].Seed, p.Server, p.Seed)
		}
	}
	if err := whole(shards); err != nil {
		return Suite{}, err
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Suite) int { return a.Shard.Index - b.Shard.Index })
	return joined(parts), nil
}

// joined restores the plan's order of the cells of sorted shards.
func joined(parts []Suite) Suite {
	first := parts[0]
	out := Suite{Server: first.Server, Seed: first.Seed, Start: first.Start, Environment: first.Environment,
		Rerun: strings.Replace(first.Rerun, " --shard "+first.Shard.String(), "", 1)}
	for i := range first.Shard.Of {
		from := parts[i%len(parts)]
		if n := i / len(parts); n < len(from.Cells) {
			out.Cells = append(out.Cells, from.Cells[n])
		}
	}
	var ends time.Time
	for _, p := range parts {
		out.Missing += p.Missing
		for _, n := range p.Notes {
			out.Notes = append(out.Notes, "shard "+p.Shard.String()+": "+n)
		}
		if p.Start.Before(out.Start) {
			out.Start = p.Start
		}
		if end := p.Start.Add(p.Duration); end.After(ends) {
			ends = end
		}
	}
	out.Duration = ends.Sub(out.Start)
	out.Judge()
	return out
}

// PlanDigest identifies a plan by its items, in their order.
func PlanDigest(items []string) string {
	plan := sha256.New()
	for _, item := range items {
		fmt.Fprintln(plan, item)
	}
	return hex.EncodeToString(plan.Sum(nil)[:8])
}

// MergeBenches joins the shards of a bench, given in any order: each has some of the settings, measured whole on its own machine. The error is
// ErrShards, as that of MergeSuites.
func MergeBenches(parts []Bench) (Bench, error) {
	shards := make([]*Shard, len(parts))
	for i, p := range parts {
		shards[i] = p.Shard
		if p.Server != parts[0].Server || p.Seed != parts[0].Seed {
			return Bench{}, fmt.Errorf("%w: one ran on %s with seed %d, another on %s with seed %d", ErrShards,
				parts[0].Server, parts[0].Seed, p.Server, p.Seed)
		}
	}
	if err := whole(shards); err != nil {
		return Bench{}, err
	}
	parts = slices.Clone(parts)
	slices.SortFunc(parts, func(a, b Bench) int { return a.Shard.Index - b.Shard.Index })
	return joinedBench(parts), nil
}

// joinedBench restores the plan's order of the settings of sorted shards.
func joinedBench(parts []Bench) Bench {
	out := parts[0]
	out.Shard, out.Baseline, out.Cells, out.Knees, out.Gates, out.Notes = nil, nil, nil, nil, nil, nil
	out.Plan.Settings = nil
	out.Rerun = strings.Replace(out.Rerun, " --shard "+parts[0].Shard.String(), "", 1)
	for i := range parts[0].Shard.Of {
		from := parts[i%len(parts)]
		if n := i / len(parts); n < len(from.Plan.Settings) {
			setting := from.Plan.Settings[n]
			out.Plan.Settings = append(out.Plan.Settings, setting)
			out.Cells = append(out.Cells, filtered(from.Cells, func(c BenchCell) bool { return c.Setting == setting })...)
			out.Knees = append(out.Knees, filtered(from.Knees, func(k Knee) bool { return k.Setting == setting })...)
		}
	}
	for _, p := range parts {
		out.Duration, out.Interrupted = max(out.Duration, p.Duration), out.Interrupted || p.Interrupted
		out.Gates = append(out.Gates, p.Gates...)
		for _, n := range p.Notes {
			out.Notes = append(out.Notes, "shard "+p.Shard.String()+": "+n)
		}
	}
	if len(parts) > 1 {
		out.Notes = append(out.Notes, "each setting was measured on a machine of its own shard: figures of two settings are not of one machine, and the round trip is the first's")
	}
	out.Judge()
	return out
}

func filtered[T any](all []T, is func(T) bool) (out []T) {
	for _, one := range all {
		if is(one) {
			out = append(out, one)
		}
	}
	return out
}

// whole checks that the shards are of one plan and that each is there once.
func whole(shards []*Shard) error {
	if len(shards) == 0 {
		return fmt.Errorf("%w: there are none", ErrShards)
	}
	seen := map[int]bool{}
	for _, s := range shards {
		switch {
		case s == nil || shards[0] == nil:
			return fmt.Errorf("%w: one ran without --shard and is whole", ErrShards)
		case s.Count != shards[0].Count || s.Of != shards[0].Of || s.Plan != shards[0].Plan:
			return fmt.Errorf("%w: %v and %v are of different plans; all must come from the same command and the same version", ErrShards, shards[0], s)
		case seen[s.Index]:
			return fmt.Errorf("%w: %v comes twice", ErrShards, s)
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
