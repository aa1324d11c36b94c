package subject

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// Variant returns a catalogue entry for the description: kind, features and servers. The caller
// sets the rest. It rejects words that are not in the protocol: a feature with a misspelt name
// would never be tested.
func (d Description) Variant() (impls.Variant, error) {
	v := impls.Variant{Kind: history.Mutex, Topology: impls.Standalone, Quorum: d.Quorum}
	if d.Quorum < 0 {
		return v, fmt.Errorf("describe: quorum %d: want at least 0", d.Quorum)
	}
	switch k := history.Kind(d.Kind); k {
	case "":
	case history.Mutex, history.Reentrant, history.RW, history.Semaphore:
		v.Kind = k
	default:
		return v, fmt.Errorf("describe: kind %q: want mutex, reentrant, rw or semaphore", d.Kind)
	}
	words := canWords()
	for _, w := range d.Can {
		trait, ok := words[w]
		if !ok {
			return v, fmt.Errorf("describe: can %q: want words of %s", w, strings.Join(slices.Sorted(maps.Keys(words)), ", "))
		}
		*trait(&v.Traits) = true
	}
	v.Traits.Reentrant = v.Kind == history.Reentrant
	v.Traits.Permits = v.Kind == history.Semaphore
	v.Traits.Shared = v.Traits.Shared || v.Kind == history.RW
	if slices.Contains(d.Can, canIndependent) {
		v.Topology = impls.Independent
	}
	return v, nil
}
