package repro

import (
	"bytes"
	"context"
	"embed"
	"fmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
)

//go:embed tapes/*.tape
var tapes embed.FS

// found returns the bugs that searches found in released libraries and in published designs, each
// with the tape of a schedule that shows it, and a scenario that shows it on real servers.
// docs/findings.md has the broken promise and the line of the source.
func found() []Bug {
	return []Bug{
		{
			Name: "redsync-late-release", Lock: "redsync", Scenario: "late-release", Shows: []string{"mutual-exclusion/late-request"},
			Tape:   "tapes/redsync-late-release.tape",
			What:   "All tries of one Lock share a token: if the release that a refused try sends arrives late, it ends the grant of a later try.",
			Source: "github.com/go-redsync/redsync/v4 v4.18.1",
		},
		{
			Name: "rueidislock-late-notice", Lock: "rueidislock", Scenario: "late-notice", Shows: []string{"mutual-exclusion/overbelief"},
			Tape:   "tapes/rueidislock-late-notice.tape",
			What:   "The client waits for the reply to a renewal until the deadline that the renewal would have set: the holder is notified of the loss half a validity after the keys have expired.",
			Source: "github.com/redis/rueidis v1.0.79",
		},
		{
			Name: "redisson-late-grant", Lock: "redisson", Scenario: "late-outer-grant", Shows: []string{"mutual-exclusion/own-release", "exclusive-use/own-release"},
			Tape:   "tapes/redisson-late-grant.tape",
			What:   "A client's later hold has the same owner id as an earlier one that has ended: the watchdog reports no loss, and the inner release ends the outer hold too.",
			Source: "Redis series 13",
		},
	}
}

func follow(ctx context.Context, b Bug, cfg Config, r *results.Repro) error {
	text, err := tapes.ReadFile(b.Tape)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	t, err := sim.ReadTape(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	broken, story, err := cfg.Breaks(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Name, err)
	}
	r.Attempts, r.Tape = 1, "repro/"+b.Tape
	if !broken {
		r.Why = "the tape no longer shows the violation"
		return nil
	}
	r.Reproduced, r.Story = true, story
	r.Observed = append(r.Observed, fmt.Sprintf("%s/%s", t.Property, t.Cause))
	return nil
}
