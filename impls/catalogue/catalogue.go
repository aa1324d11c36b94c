// Package catalogue lists all locks of lockbench in the order of the documentation, and separately the planted bugs.
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

// Locks returns the locks, without planted bugs, in the order of the documentation.
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

// Planted returns the planted bugs.
func Planted() []impls.Variant { return planted.Variants() }

// Find returns a lock or planted bug by name.
func Find(name string) (impls.Variant, bool) {
	for _, v := range append(Locks(), Planted()...) {
		if v.Name == name {
			return v, true
		}
	}
	return impls.Variant{}, false
}

// ScriptNames returns the name of every script by digest, for recorders of commands.
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

// Known is the catalogue as a value, for packages that import no lock.
type Known struct{}

// Find calls the function Find.
func (Known) Find(name string) (impls.Variant, bool) { return Find(name) }

// ScriptNames calls the function ScriptNames.
func (Known) ScriptNames() map[string]string { return ScriptNames() }
