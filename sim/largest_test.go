package sim

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// bound is a size of a walk.
type bound struct {
	clients, ops, faults, waits int
	of                          func(impls.Variant) []string
}

// ladder lists sizes of walks, each with about ten times the schedules of the one before.
var ladder = []bound{
	{clients: 1, ops: 1}, {clients: 2, ops: 1}, {2, 1, 1, 0, crashes}, {2, 1, 1, 0, strikes}, {2, 1, 1, 1, strikes}, {clients: 2, ops: 2},
	{2, 2, 1, 0, crashes}, {2, 2, 1, 0, strikes}, {clients: 3, ops: 1}, {3, 1, 1, 0, crashes}, {3, 1, 1, 0, strikes}, {2, 1, 2, 0, crashes}, {2, 1, 2, 0, strikes},
	{2, 2, 2, 0, crashes}, {3, 1, 2, 0, crashes}, {2, 2, 2, 0, strikes}, {3, 1, 2, 0, strikes}, {2, 1, 3, 0, strikes}, {clients: 3, ops: 2},
}

func crashes(impls.Variant) []string { return []string{faults.PauseClient, faults.CrashClient} }

// strikes returns the faults that a lock of its kind must survive, as far as a walk can place them.
func strikes(v impls.Variant) (all []string) {
	for _, f := range DefaultFaults(v) {
		if !IsStanding(f) {
			all = append(all, f)
		}
	}
	return all
}

func (b bound) config(v impls.Variant) ExploreConfig {
	p := DefaultProgram(v)
	p.Clients, p.Config.Ops = b.clients, b.ops
	bounds := Bounds{MaxFaults: b.faults, MaxWaits: b.waits}
	if b.of != nil {
		bounds.Faults = b.of(v)
	}
	return ExploreConfig{Program: p, Bounds: bounds, Strategy: Exhaustive, Known: catalogue.Known{}}
}

// TestLargestBoundsExhausted walks ever larger bounds of each correct lock for as long as LOCKBENCH_LARGEST says, and prints the largest that
// were exhausted; -run LargestBoundsExhausted/token is for one. See docs/simulator.md.
func TestLargestBoundsExhausted(t *testing.T) {
	limit, err := time.ParseDuration(os.Getenv("LOCKBENCH_LARGEST"))
	if err != nil {
		t.Skip("LOCKBENCH_LARGEST is no duration")
	}
	fmt.Println("| lock | largest bounds exhausted | schedules run | states | seconds |\n|---|---|---|---|---|")
	for _, name := range correct {
		t.Run(name, func(t *testing.T) {
			v, _ := catalogue.Find(name)
			fmt.Printf("| %s | %s |\n", name, largest(t, v, limit))
		})
	}
}

// largest walks ever larger bounds of a lock, with one process, and describes the largest that were exhausted within a time.
func largest(t *testing.T, v impls.Variant, limit time.Duration) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	said := "none | | |"
	for _, b := range ladder {
		cfg := b.config(v)
		cfg.Workers = 1
		r, err := Explore(ctx, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.First != nil {
			t.Errorf("%s/%s:\n%s", r.First.Property, r.First.Cause, strings.Join(r.First.Steps, "\n"))
		}
		if !r.Exhausted {
			break
		}
		said = fmt.Sprintf("%d clients × %d operations, %d faults %s, %d waits | %d | %d | %.1f", b.clients, b.ops, b.faults,
			strings.Join(r.Bounds.Faults, ", "), b.waits, r.Schedules, r.States, r.Seconds)
	}
	return said
}
