package harness

import (
	"bytes"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/sim"
)

// A tape's program and faults, without its order of messages, must be a scenario that shows the same thing: it is all that can be
// asked of real servers.
func TestTapeAsAScenarioBreaksTheSame(t *testing.T) {
	for _, tt := range []struct{ lock, breaks string }{
		{"set-nx-ex", "mutual-exclusion/mis-unlock"},         // work that is too slow, or a stall inside the section
		{"setnx", "progress/no-expiry"},                      // a crash while holding
		{"bug-expire-apart", "progress"},                     // a fault between two commands of an acquire
		{"bug-lease-from-reply", "mutual-exclusion"},         // a stall between a reply and its being read
		{"bug-blind-release", "mutual-exclusion/mis-unlock"}, // a stall before the release
		{"bug-readers-cleared", "mutual-exclusion"},          // no fault at all
	} {
		t.Run(tt.lock, func(t *testing.T) {
			v, _ := catalogue.Find(tt.lock)
			s := sim.New(nil)
			defer s.Close()
			found, err := s.Explore(t.Context(), sim.ExploreConfig{Program: sim.DefaultProgram(v), Seed: 1, Schedules: 3000, Seek: []string{tt.breaks},
				Bounds: sim.Bounds{Faults: sim.DefaultFaults(v), MaxFaults: 2, MaxWaits: 2}})
			if err != nil || found.First == nil {
				t.Fatalf("no tape: %v", err)
			}
			tape, err := s.Shrink(t.Context(), found.First.Tape)
			if err != nil {
				t.Fatal(err)
			}
			placed, err := s.Placed(tape)
			if err != nil {
				t.Fatal(err)
			}
			sc := OfTape(tape, placed)
			text, err := sc.YAML()
			if err != nil {
				t.Fatal(err)
			}
			if sc, err = scenarios.Parse("tape", text); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			provider := &Sim{Schedules: 20}
			defer provider.Close()
			out, err := Run(t.Context(), Experiment{Variant: v, Scenario: sc.Resolve(tape.Program.Seed, v.Topology), Provider: provider,
				Seed: tape.Program.Seed, Now: time.Now, Random: bytes.NewReader(make([]byte, 64))})
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range out.Verdict.Properties {
				if p.Name == tape.Property && p.Verdict == checker.Fail {
					return
				}
			}
			t.Errorf("%s is not broken by\n%s\nchoices %v", tape.Property, text, tape.Choices)
		})
	}
}
