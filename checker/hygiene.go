package checker

import (
	"strings"

	"github.com/lockbench/lockbench/verdicts"
)

// hygiene: after all clients have finished, no key, queue entry, subscription or goroutine is left.
//
// The runner of the experiment looks and describes what it found; this only counts. The look is the one opportunity.
func hygiene(opt Options) tally {
	t := tally{property: verdicts.Hygiene, applies: opt.Leftovers != nil, note: "nobody looked for what was left behind"}
	if !t.applies {
		return t
	}
	t.opportunities, t.violations = max(1, len(opt.Leftovers)), len(opt.Leftovers)
	for _, what := range opt.Leftovers[:min(len(opt.Leftovers), opt.MaxViolations)] {
		t.kept = append(t.kept, Violation{Property: verdicts.Hygiene, Cause: verdicts.CauseUnknown, Witness: Witness{Leftover: what}})
	}
	return t
}

// place locates what was left in the record: the key named in the description, at the end of the record.
func (a *archive) place(t tally, ev *evidence) tally {
	for i := range t.kept {
		v := &t.kept[i]
		for _, k := range a.keys {
			if strings.Contains(v.Witness.Leftover, k.name) && len(k.name) > len(v.Key) {
				v.Key, v.At = k.name, ev.lastCommand()
			}
		}
	}
	return t
}

// lastCommand returns when the last command of the record was sent.
func (e *evidence) lastCommand() (at int64) {
	for _, list := range e.commands {
		at = max(at, list[len(list)-1].Sent)
	}
	return at
}
