package checker

import (
	"io"
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// sliceSource yields operations from memory.
type sliceSource struct{ ops []history.Operation }

func (s *sliceSource) Next(op *history.Operation) error {
	if len(s.ops) == 0 {
		return io.EOF
	}
	*op, s.ops = s.ops[0], s.ops[1:]
	return nil
}

// TestCheckOfTheCorpus checks each history of the corpus as a whole: whatever is found broken carries a cause that the
// history is labelled with, or follows from it.
func TestCheckOfTheCorpus(t *testing.T) {
	found, unseen := 0, 0
	for _, c := range loadCorpus(t) {
		in := Input{Header: c.header, Ops: &sliceSource{slices.Clone(c.ops)}, Commands: c.commands, Faults: c.faults}
		verdict, err := Check(t.Context(), in, Options{})
		check(t, err)
		labels := []history.Cause{}
		for _, v := range c.violations {
			labels = append(labels, v.Cause)
		}
		seen := false
		for _, v := range verdict.Violations {
			seen = seen || v.Cause == labels[0]
			if v.Property != history.ReleaseSafety && v.Property != history.Linearizability && v.Property != history.Refusal && !slices.Contains(labels, v.Cause) && !follows(c.name, v.Cause) {
				t.Errorf("%s: %s at %d between %v has cause %s, labelled %v", c.name, v.Property, v.At, v.Clients, v.Cause, labels)
			}
			if len(v.Story) < storyMin || len(v.Operations) == 0 {
				t.Errorf("%s: %s at %d: a story of %d lines, %d operations", c.name, v.Property, v.At, len(v.Story), len(v.Operations))
			}
		}
		if found++; !seen {
			unseen++
			t.Logf("%s: no violation of its cause is found: its effect is not one that an operation shows", c.name)
		}
	}
	t.Logf("%d histories checked; %d do not show their cause without a look at what was left behind", found, unseen)
	if unseen*8 > found {
		t.Errorf("%d of %d histories do not show their cause", unseen, found)
	}
}

// follows reports whether a history shows another violation besides the one it is labelled with: a client that outlives its
// lease is how most mis-unlocks begin.
func follows(name string, cause history.Cause) bool {
	return cause == history.LeaseOverrun && (len(name) > 10 && name[:10] == "mis-unlock" || name == "reader-evicted/rw-pair-stalled-reader")
}

// TestLeftoversAreAttributed: what was found left behind names a key, and the record of that key says who left it.
func TestLeftoversAreAttributed(t *testing.T) {
	for _, name := range []string{"no-expiry/left-behind", "orphan/left-behind", "ambiguous-reply/left-behind"} {
		c := loadCase(t, corpusDir+"/"+name)
		in := Input{Header: c.header, Ops: &sliceSource{c.ops}, Commands: c.commands, Faults: c.faults}
		verdict, err := Check(t.Context(), in, Options{Leftovers: []string{"key lb:job (string)", "3 goroutines"}})
		check(t, err)
		var got []history.Cause
		for _, v := range verdict.Violations {
			if v.Property == history.Hygiene {
				got = append(got, v.Cause)
			}
		}
		slices.Sort(got)
		want := []history.Cause{c.violations[0].Cause, history.CauseUnknown}
		if slices.Sort(want); !slices.Equal(got, want) {
			t.Errorf("%s: causes %v, want %v: of the goroutines nobody knows", name, got, want)
		}
	}
}
