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

// found are the bugs that a search found in released libraries, each kept as the tape of the schedule that shows it, and as a scenario that
// shows the same on real servers. What they contradict, and the line of the library's source that does it, is told in docs/findings.md.
func found() []Bug {
	return []Bug{
		{
			Name: "redsync-late-release", Lock: "redsync", Scenario: "late-release", Shows: []string{"mutual-exclusion/late-request"},
			Tape:   "tapes/redsync-late-release.tape",
			What:   "All tries of one Lock share a token, so that the release which a refused try sent, when it arrives late, ends the grant of a later try.",
			Source: "github.com/go-redsync/redsync/v4 v4.18.1",
		},
		{
			Name: "rueidislock-late-notice", Lock: "rueidislock", Scenario: "late-notice", Shows: []string{"mutual-exclusion/overbelief"},
			Tape:   "tapes/rueidislock-late-notice.tape",
			What:   "A renewal that no reply comes to is awaited until the deadline that it was to set, half a validity after the keys are gone: only then is the holder told.",
			Source: "github.com/redis/rueidis v1.0.79",
		},
	}
}

// follow runs a bug's tape again and looks whether what it broke breaks.
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
		r.Why = "what the tape broke is not broken any more"
		return nil
	}
	r.Reproduced, r.Story = true, story
	r.Observed = append(r.Observed, fmt.Sprintf("%s/%s", t.Property, t.Cause))
	return nil
}
