package sim

import (
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls/catalogue"
)

// TestStoredTapesReplay replays the tapes named by LOCKBENCH_TAPES, separated by commas: to see whether a tape that was found elsewhere gives the same
// trace here.
func TestStoredTapesReplay(t *testing.T) {
	names := os.Getenv("LOCKBENCH_TAPES")
	if names == "" {
		t.Skip("LOCKBENCH_TAPES names no tape")
	}
	s := New(catalogue.Known{})
	defer s.Close()
	for name := range strings.SplitSeq(names, ",") {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		tape, err := ReadTape(f)
		if e := f.Close(); err != nil || e != nil {
			t.Fatal(err, e)
		}
		if out, err := s.Replay(tape); err != nil {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(out.Trace, "\n"))
		}
	}
}
