package page

import (
	"io"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/verdicts"
)

// stretched is a violation by a release that its client was paused in: called at 40 ms, it returned at 340 ms.
func stretched() *checker.Violation {
	release := history.Operation{ID: 2, Client: "c1", Op: history.Release, Key: "job", Call: 40 * ms, Return: 340 * ms, Outcome: history.OK}
	acquire := history.Operation{ID: 1, Client: "c1", Op: history.Acquire, Key: "job", Call: 0, Return: 10 * ms, Outcome: history.OK}
	later := history.Operation{ID: 3, Client: "c2", Op: history.Acquire, Key: "job", Call: 20 * ms, Return: 320 * ms, Outcome: history.OK}
	return &checker.Violation{Property: verdicts.ReleaseSafety, Cause: verdicts.MisUnlock, At: 40 * ms, Key: "job", Clients: []string{"c1", "c2"}, Around: &checker.Surroundings{
		Header:     history.Header{Lease: 300 * ms},
		Operations: []history.Operation{acquire, release, later},
		Faults:     []history.Window{{Fault: "pause-client", Client: "c1", Start: 40 * ms, End: 340 * ms, Confirmed: true}},
		Holds: []checker.Hold{
			{Client: "c1", Acquire: acquire, Release: &release, Belief: []checker.Span{{From: 10 * ms, To: 40 * ms}}},
			{Client: "c2", Acquire: later, Belief: []checker.Span{{From: 320 * ms, To: 620 * ms}}},
		},
	}}
}

// TestFocusHasTheWholeOperation: the first view reaches to where the stretched release returned, which is where the harm was done.
func TestFocusHasTheWholeOperation(t *testing.T) {
	s := NewScene(stretched(), "set-nx-ex", "pause-before-release", nil)
	if s.Lanes == nil || s.Lanes.Focus[0] > 0 || s.Lanes.Focus[1] < 340*ms {
		t.Errorf("the first view is %+v", s.Lanes)
	}
}

// TestPicture: a row for each client, with its hold as a bar, the fault behind it, and a line at the violation.
func TestPicture(t *testing.T) {
	s := NewScene(stretched(), "set-nx-ex", "pause-before-release", nil)
	svg := render(t, func(w io.Writer) error { return Picture(w, s) })
	for what, want := range map[string]int{`class="h"`: 2, `class="f"`: 1, `class="v"`: 1} {
		if n := strings.Count(svg, "<rect "+what) + strings.Count(svg, "<line "+what); n != want {
			t.Errorf("%s: %d, want %d in %s", what, n, want, svg)
		}
	}
	if len(svg) > MaxPicture || !strings.Contains(svg, `viewBox="0 0 200 24"`) {
		t.Errorf("%d bytes: %s", len(svg), svg)
	}
}
