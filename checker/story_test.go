package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/history"
)

// TestStories holds the story and the drawing of every violation of the corpus to what is stored beside it.
func TestStories(t *testing.T) {
	for _, c := range loadCorpus(t) {
		var got strings.Builder
		ev := c.evidence()
		for _, v := range c.violations {
			explain(&v, ev, false)
			for _, line := range slices.Concat(v.Story, []string{""}, v.Lanes, []string{""}) {
				fmt.Fprintln(&got, line)
			}
		}
		golden(t, filepath.Join(corpusDir, c.name, "story"), got.String())
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		check(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	check(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestStoriesAreShort holds every story to five to twelve lines that fit two lines of a terminal, and every drawing to 80 columns.
func TestStoriesAreShort(t *testing.T) {
	for _, c := range loadCorpus(t) {
		ev := c.evidence()
		for _, v := range c.violations {
			explain(&v, ev, false)
			if n := len(v.Story); n < storyMin || n > storyMax {
				t.Errorf("%s %s: a story of %d lines:\n%s", c.name, v.Property, n, strings.Join(v.Story, "\n"))
			}
			for _, line := range v.Story {
				if len(line) > 160 {
					t.Errorf("%s %s: %d bytes: %s", c.name, v.Property, len(line), line)
				}
			}
			for _, line := range v.Lanes[:max(0, len(v.Lanes)-1)] {
				if len(line) > 96 {
					t.Errorf("%s %s: drawing of %d columns: %s", c.name, v.Property, len(line), line)
				}
			}
		}
	}
}

// TestStoryTellsWhatTheCauseRestsOn: the line on which a story turns must be there, with its time and its reply.
func TestStoryTellsWhatTheCauseRestsOn(t *testing.T) {
	for name, want := range map[string]string{
		"mis-unlock/set-nx-ex-pause":        `at 481 ms c1 released with DEL job -> 1: the key it deleted was c2's`,
		"lease-overrun/token-pause":         `c1 was paused from 11 ms to 479 ms (pause-client, measured)`,
		"failover-loss/token-pair":          `node 0 was lost and its replica promoted`,
		"no-expiry/setnx-crash":             `asked with SETNX job 1 -> 1: the key has no lease`,
		"stale-reentry/reentrant-local":     `the client counted itself in without asking the server`,
		"orphan/token-session-lost-release": `no reply`,
	} {
		c := loadCase(t, filepath.Join(corpusDir, name))
		v := c.violations[0]
		explain(&v, c.evidence(), false)
		if story := strings.Join(v.Story, "\n"); !strings.Contains(story, want) {
			t.Errorf("%s: the story does not say %q:\n%s", name, want, story)
		}
	}
}

// TestShrinkKeepsOnlyWhatShows: noise around a violation is dropped, and what is left shows it for the same cause.
func TestShrinkKeepsOnlyWhatShows(t *testing.T) {
	c := loadCase(t, filepath.Join(corpusDir, "mis-unlock/set-nx-ex-pause"))
	for i := range int64(20) { // refusals of clients that play no part
		c.ops = append(c.ops, history.Operation{
			ID: uint64(100 + i), Client: fmt.Sprint("n", i%3), Op: history.Acquire, Key: "job",
			Call: i * 20 * milli, Return: i*20*milli + milli, Outcome: history.Busy,
		})
	}
	v := c.violations[0]
	explain(&v, c.evidence(), false)
	if len(v.Operations) > 6 {
		t.Errorf("%d operations are left: %v", len(v.Operations), v.Operations)
	}
	less := c
	less.ops = v.Operations
	again := Violation{Property: v.Property, Key: v.Key, At: v.At, Lasted: v.Lasted, Clients: v.Clients}
	if got := attribute(&again, less.evidence()); got != history.MisUnlock {
		t.Errorf("the operations that are left show %s", got)
	}
}
