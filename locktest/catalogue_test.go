package locktest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are how the kit is told of a catalogue variant.
func options(v impls.Variant) []locktest.Option {
	nodes := 1
	if v.Topology == impls.Independent {
		nodes = 5
	}
	return []locktest.Option{locktest.Can(v.Traits), locktest.Kind(v.Kind), locktest.Nodes(nodes)}
}

func TestEveryCatalogueLock(t *testing.T) {
	for _, v := range catalogue.Locks() {
		t.Run(v.Name, func(t *testing.T) {
			locktest.Run(t, v.New, append(options(v), locktest.Breaks(byDesign[v.Name]...), locktest.MayBreak(byChance[v.Name]...))...)
		})
	}
}

var byDesign = map[string][]string{}
var byChance = map[string][]string{}
