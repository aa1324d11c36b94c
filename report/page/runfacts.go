package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// environment lists the machine, the build and the servers of the run.
func (v *runView) environment() {
	v.Facts = environmentFacts(v.Run.Environment)
	if v.Run.Chosen != "" {
		v.Facts = append(v.Facts, [2]string{"server", v.Run.Server + ": " + v.Run.Chosen})
	}
	for _, n := range v.Run.Nodes {
		v.Facts = append(v.Facts, nodeFact(n))
	}
	if v.Run.PlanHash != "" {
		v.Facts = append(v.Facts, [2]string{"plan", v.Run.PlanHash})
	}
	v.Facts = append(v.Facts, [2]string{"run", v.Run.ID + ", phase " + string(v.Run.Phase)})
}

func nodeFact(n results.Node) [2]string {
	text := n.Product()
	for _, k := range slices.Sorted(maps.Keys(n.Config)) {
		text += fmt.Sprintf(", %s %q", k, n.Config[k])
	}
	if n.Image != "" {
		text += ", " + n.Image
	}
	return [2]string{"node " + n.Name, text}
}

func environmentFacts(e results.Environment) (out [][2]string) {
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
	return out
}
