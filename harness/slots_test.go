package harness

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
)

// TestKeysOfSeveralSlots: before anything is started, a cluster refuses a lock by the script and
// its keys, those that the script makes included.
func TestKeysOfSeveralSlots(t *testing.T) {
	steady, _ := scenarios.Find("steady")
	for _, row := range []struct{ lock, says string }{
		{"rw-pair", "pair_write.lua uses keys of several slots, which a cluster refuses (CROSSSLOT): lb:job:read (slot 9201), lb:job:write (slot 833); with a hash tag, {lb:job}:read, {lb:job}:write"},
		{"rw-owner", "owner_write.lua uses keys of several slots"},
		{"rw-hash", ""},
		{"handoff", ""}, // its script makes keys of the same slot
	} {
		v, _ := catalogue.Find(row.lock)
		s := steady
		s.Topology = impls.Cluster
		e := Experiment{Variant: v, Scenario: s.Resolve(1, v.Topology), Provider: &Sim{}}
		err := e.Validate()
		if row.says == "" && err != nil || row.says != "" && (!errors.Is(err, ErrNotApplicable) || !strings.Contains(err.Error(), row.says)) {
			t.Errorf("%s: %v, want %q", row.lock, err, row.says)
		}
		e.Scenario.Topology = ""
		if err := e.Validate(); err != nil {
			t.Errorf("%s on one server: %v", row.lock, err)
		}
	}
}

func TestMend(t *testing.T) {
	for keys, want := range map[string]string{
		"job:read job:rwait": "{job}:read, {job}:rwait",
		"job job:queue":      "{job}, {job}:queue",
		"read:job write:job": "the same word in braces",
		"{a}:1 {b}:2":        "the same word in braces",
	} {
		if got := mend(strings.Fields(keys)); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", keys, got, want)
		}
	}
}
