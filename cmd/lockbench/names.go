package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/suggest"
	"github.com/lockbench/lockbench/scenarios"
)

func lockNames() []string { return namesOf(catalogue.Locks(), variantName) }
func scenarioNames() []string {
	return namesOf(scenarios.Builtin(), func(s scenarios.Scenario) string { return s.Name })
}

func variantName(v impls.Variant) string { return v.Name }

func namesOf[T any](all []T, name func(T) string) (names []string) {
	for _, v := range all {
		names = append(names, name(v))
	}
	return names
}

// loadEach loads what each name, path or size stands for.
func loadEach[N, T any](names []N, load func(N) (T, error)) (all []T, err error) {
	for _, name := range names {
		one, err := load(name)
		if err != nil {
			return nil, asInput(err)
		}
		all = append(all, one)
	}
	return all, nil
}

// variant finds a lock or a planted bug. groups are other words that the caller accepts.
func variant(name string, groups ...string) (impls.Variant, error) {
	if name == "" {
		return impls.Variant{}, fmt.Errorf("%w: --lock is missing; 'lockbench list locks' shows them", errUsage)
	}
	if strings.Contains(name, ",") {
		return impls.Variant{}, fmt.Errorf("%w: --lock takes one lock, got %q; for several, --locks %s of suite (every scenario) or bench (what they cost)",
			errUsage, name, name)
	}
	v, ok := catalogue.Find(name)
	if !ok {
		return impls.Variant{}, fmt.Errorf("%w: unknown lock %q%s", errUsage, name,
			cmp.Or(suggest.Hint(name, slices.Concat(lockNames(), namesOf(catalogue.Planted(), variantName), groups)), "; 'lockbench list locks' shows them"))
	}
	return v, nil
}
