package scenarios

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
)

func TestParseSweep(t *testing.T) {
	tests := []struct {
		text        string
		n           int
		second, end faults.Span
	}{
		{"pause/lease=0.2..3.0", 8, faults.Span{Leases: 0.6}, faults.Span{Leases: 3}}, // in leases
		// so many points
		{"pause/lease=0.5..1.5/3", 3, faults.Span{Leases: 1}, faults.Span{Leases: 1.5}},
		{"clock-jump=100ms..800ms", 8, faults.Span{Fixed: 200 * time.Millisecond}, faults.Span{Fixed: 800e6}}, // in time
		// backwards, too
		{"clock-jump=-1 lease..1 lease/5", 5, faults.Span{Leases: -0.5}, faults.Span{Leases: 1}},
		{"failover-lag=10ms..1 lease + 10ms/2", 2, faults.Span{Leases: 1, Fixed: 1e7}, faults.Span{Leases: 1, Fixed: 1e7}}, // both
	}
	for _, tt := range tests {
		s, err := ParseSweep(tt.text)
		if err != nil || len(s.Points) != tt.n {
			t.Errorf("%s: %v, %v", tt.text, s.Points, err)
			continue
		}
		if s.Points[1] != tt.second || s.Points[tt.n-1] != tt.end {
			t.Errorf("%s: %v, want %v second and %v last", tt.text, s.Points, tt.second, tt.end)
		}
	}
}

func TestParseSweepRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"pause/lease":               "want NAME=FROM..TO",
		"rain=1s..2s":               `unknown parameter "rain"; known are pause, clock-skew, work`,
		"pause/lease=0.2":           `"0.2": want FROM..TO`,
		"pause/lease=a..2":          `FROM: "a": want a number of leases`,
		"pause/lease=0.2..300ms":    `TO: "300ms": want a number of leases`,
		"pause=0.2..3":              `FROM: "0.2": a span looks like`,
		"pause=2s..1s":              "TO 1s must be more than FROM 2s",
		"pause=1s..1s":              "must be more than",
		"pause=0s..1s":              "FROM must be more than 0",
		"failover-lag=-1ms..1s":     "FROM must be more than 0",
		"pause/lease=0.2..3/1":      `"1" points: want a number from 2 to 200`,
		"pause/lease=0.2..3/many":   `"many" points`,
		"clock-jump=1 lease..500ms": "must be more than",
		"pause/lease=0.2..3.0/8/9":  `"8/9" points`,
	} {
		if _, err := ParseSweep(text); !errors.Is(err, errSweep) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseSweep(f *testing.F) {
	f.Add("pause/lease=0.2..3.0/8")
	f.Add("clock-jump=-1 lease..1 lease + 20ms")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSweep(text)
		if (err == nil) != (len(s.Points) >= 2) {
			t.Errorf("%q: %d points, %v", text, len(s.Points), err)
		}
	})
}

func TestScenarioAtASize(t *testing.T) {
	sweep, err := ParseSweep("pause/lease=0.2..3.0")
	if err != nil {
		t.Fatal(err)
	}
	s := Scenario{Name: "stall", Faults: []faults.Spec{{Fault: faults.PauseClient, For: faults.Span{Leases: 1.5}, Until: "other-entered"}}}
	got, err := s.At(sweep, sweep.Points[2])
	if err != nil || got.Faults[0].For != (faults.Span{Leases: 1}) || got.Faults[0].Until != "" {
		t.Errorf("%+v, %v", got.Faults, err)
	}
	if s.Faults[0].Until == "" {
		t.Error("the scenario itself was changed")
	}
	steady, _ := Find("steady")
	if _, err := steady.At(sweep, sweep.Points[0]); !errors.Is(err, errSweep) || !strings.Contains(err.Error(), "scenario steady has no pause-client") {
		t.Errorf("%v", err)
	}
}
