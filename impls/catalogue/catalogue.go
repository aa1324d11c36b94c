// Package catalogue is the one list of every lock variant that lockbench ships, and of the planted bugs. The families under
// impls each list their own; this package puts the lists in the order of the documentation and finds a variant or a script by
// its name. It refuses to mix the two: a planted bug is never among the locks that a reader is shown. It opens no lock.
package catalogue

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/adapters"
	"github.com/lockbench/lockbench/impls/beyond"
	"github.com/lockbench/lockbench/impls/mutex"
	"github.com/lockbench/lockbench/impls/planted"
	"github.com/lockbench/lockbench/impls/quorum"
	"github.com/lockbench/lockbench/impls/reentrant"
	"github.com/lockbench/lockbench/impls/rw"
)

// Locks lists every variant that may be shown to a reader, in the order of the documentation.
func Locks() []impls.Variant {
	return slices.Concat(
		mutex.Variants(),
		reentrant.Variants(),
		quorum.Variants(),
		rw.Variants(),
		beyond.Variants(),
		mutex.ServerVariants(),
		adapters.Variants(),
	)
}

// Planted lists the mutants with which the tester tests itself.
func Planted() []impls.Variant { return planted.Variants() }

// Find looks a name up among the locks and the planted bugs.
func Find(name string) (impls.Variant, bool) {
	for _, v := range append(Locks(), Planted()...) {
		if v.Name == name {
			return v, true
		}
	}
	return impls.Variant{}, false
}

// ScriptNames maps the digest of every script to its name, for recorders of commands.
func ScriptNames() map[string]string {
	names := adapters.ScriptNames()
	for _, v := range append(Locks(), Planted()...) {
		for _, s := range v.Scripts {
			names[s.Digest()] = s.Name
			names[s.Millis().Digest()] = s.Name
		}
	}
	return names
}

// Known is the catalogue as a value, for the simulator, which imports no lock. The zero value is ready.
type Known struct{}

// Find looks a name up among the locks and the planted bugs.
func (Known) Find(name string) (impls.Variant, bool) { return Find(name) }

// ScriptNames maps the digest of every script to its name.
func (Known) ScriptNames() map[string]string { return ScriptNames() }
