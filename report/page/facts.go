package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// environmentFacts lists a machine, a build and servers.
func environmentFacts(e results.Environment, nodes []history.Server) (out [][2]string) {
	add := func(name, text string) {
		if text != "" {
			out = append(out, [2]string{name, text})
		}
	}
	commit := e.Git
	if e.Dirty {
		commit += " (plus uncommitted changes)"
	}
	add("lockbench", strings.TrimSpace(e.Lockbench+" "+commit))
	add("Go", strings.TrimSpace(e.Go+" "+e.Platform))
	if e.CPUs > 0 {
		cpu := fmt.Sprintf("%s, %d of them, GOMAXPROCS %d", cmp.Or(e.CPU, "not known"), e.CPUs, e.GOMAXPROCS)
		if e.CPUQuota > 0 {
			cpu += fmt.Sprintf(", quota %.2g cores", e.CPUQuota)
		}
		add("processors", cpu)
	}
	add("kernel", strings.TrimSpace(e.Kernel+strings.TrimSuffix(", clock "+e.ClockSource, ", clock ")))
	var modules []string
	for _, m := range slices.Sorted(maps.Keys(e.Modules)) {
		modules = append(modules, m+" "+e.Modules[m])
	}
	add("modules", strings.Join(modules, ", "))
	for _, n := range nodes {
		text := n.Product()
		for _, k := range slices.Sorted(maps.Keys(n.Config)) {
			text += fmt.Sprintf(", %s %q", k, n.Config[k])
		}
		if n.Image != "" {
			text += ", " + n.Image
		}
		out = append(out, [2]string{n.Name, text})
	}
	return out
}
