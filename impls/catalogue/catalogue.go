// Package catalogue lists all locks of lockbench in the order of the documentation, and separately
// the planted bugs.
package catalogue

import (
	"slices"
	"sync"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/adapters"
	"github.com/lockbench/lockbench/impls/beyond"
	"github.com/lockbench/lockbench/impls/mutex"
	"github.com/lockbench/lockbench/impls/planted"
	"github.com/lockbench/lockbench/impls/quorum"
	"github.com/lockbench/lockbench/impls/reentrant"
	"github.com/lockbench/lockbench/impls/rw"
)

// Making the variants takes milliseconds, because it parses each expectation and plants each bug;
// so it is done once. The variants are read-only.
var (
	locks = sync.OnceValue(func() []impls.Variant {
		return slices.Concat(mutex.Variants(), reentrant.Variants(), quorum.Variants(), rw.Variants(), beyond.Variants(), mutex.ServerVariants(), adapters.Variants())
	})
	bugs = sync.OnceValue(planted.Variants)
)

// Locks returns the locks, without planted bugs, in the order of the documentation.
func Locks() []impls.Variant { return slices.Clone(locks()) }

// Planted returns the planted bugs.
func Planted() []impls.Variant { return slices.Clone(bugs()) }

// Find returns a lock or planted bug by name.
func Find(name string) (impls.Variant, bool) {
	for _, all := range [][]impls.Variant{locks(), bugs()} {
		if i := slices.IndexFunc(all, func(v impls.Variant) bool { return v.Name == name }); i >= 0 {
			return all[i], true
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
