package main

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

func lockNames() []string {
	var names []string
	for _, v := range catalogue.Locks() {
		names = append(names, v.Name)
	}
	return names
}

func plantedNames() []string {
	var names []string
	for _, v := range catalogue.Planted() {
		names = append(names, v.Name)
	}
	return names
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios.Builtin() {
		names = append(names, s.Name)
	}
	return names
}

func workloadNames() []string {
	var names []string
	for _, w := range workloads.All() {
		names = append(names, w.Name())
	}
	return names
}

// variant finds a lock or a planted bug. groups are other words that the caller accepts.
func variant(name string, groups ...string) (impls.Variant, error) {
	if name == "" {
		return impls.Variant{}, fmt.Errorf("%w: --lock is missing; 'lockbench list locks' shows them", errUsage)
	}
	v, ok := catalogue.Find(name)
	if !ok {
		return impls.Variant{}, fmt.Errorf("%w: there is no lock %q ('lockbench list locks' shows them)%s", errUsage, name,
			suggest.Hint(name, slices.Concat(lockNames(), plantedNames(), groups)))
	}
	return v, nil
}
