package results

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ErrShards: parts do not make a whole.
var ErrShards = errors.New("not the shards of one whole")

// Shard is one of Count equal parts of a plan: every Count-th piece of it, beginning with number Index. Both count from 1. The split
// depends on nothing else, so that machines that know nothing of each other run each piece once.
type Shard struct {
	Index int    `json:"index"`
	Count int    `json:"count"`
	Of    int    `json:"of,omitempty"`   // pieces in the whole plan
	Plan  string `json:"plan,omitempty"` // digest of the whole plan: shards of different plans are not joined
}

// ParseShard reads "3/8", the third of eight.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 1 || i > n {
		return Shard{}, fmt.Errorf("shard %q: expected i/n with 1 ≤ i ≤ n, such as 3/8", text)
	}
	return Shard{Index: i, Count: n}, nil
}

// String returns the form that ParseShard reads.
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Count) }

// Has reports whether the shard has piece number i of the plan, counted from 0.
func (s Shard) Has(i int) bool { return i%s.Count == s.Index-1 }

// Size is how many of the plan's pieces the shard has.
func (s Shard) Size() int { return (s.Of - s.Index + s.Count) / s.Count }

// MergeSuites joins the shards of a suite to the whole, in whatever order they come, and judges it anew. The error is ErrShards when one is
// missing, comes twice, or is of another plan, server or seed.
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

// joined puts the cells of all shards, which are sorted, into the order of the plan.
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

// whole checks that the shards are one plan's, and each of it once.
func whole(shards []*Shard) error {
	if len(shards) == 0 {
		return fmt.Errorf("%w: there are none", ErrShards)
	}
	seen := map[int]bool{}
	for _, s := range shards {
		switch {
		case s == nil || shards[0] == nil:
			return fmt.Errorf("%w: one was made without --shard, and is a whole already", ErrShards)
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
