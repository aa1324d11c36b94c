package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/scenarios"
	"github.com/lockbench/lockbench/workloads"
)

// listing is one list, as JSON and as a table.
type listing struct {
	name, about string
	items       []any
	rows        [][]string // the first one is the header
}

// listOf makes a listing: of each thing its JSON and its row.
func listOf[T any](name, about string, header []string, all []T, each func(T) (item any, row []string)) listing {
	l := listing{name: name, about: about, items: []any{}, rows: [][]string{header}}
	for _, one := range all {
		item, row := each(one)
		l.items, l.rows = append(l.items, item), append(l.rows, row)
	}
	return l
}

// listings returns the lists in the order of "lockbench list".
func listings() []listing {
	type named struct {
		Name  string `json:"name"`
		About string `json:"about"`
	}
	type planted struct {
		Name string `json:"name"`
		*impls.Planted
	}
	return []listing{
		listOf("locks", "the locks that can be run", []string{"LOCK", "KIND", "SERVERS", "HOW IT WORKS"}, catalogue.Locks(), listedLock),
		listOf("scenarios", "what is done to them", []string{"SCENARIO", "WORKLOAD", "WHAT IS DONE"}, scenarios.Builtin(), listedScenario),
		listOf("workloads", "what clients do", []string{"WORKLOAD", "WHAT CLIENTS DO"}, workloads.All(), func(w *workloads.Workload) (any, []string) {
			return named{w.Name(), w.About()}, []string{w.Name(), w.About()}
		}),
		listOf("faults", "what can go wrong", []string{"FAULT", "WHAT HAPPENS"}, faults.Kinds(), listedFault),
		listOf("fields", "the fields of a scenario file", []string{"FIELD", "WHAT IT SAYS"}, scenarios.Fields(), func(f scenarios.Field) (any, []string) {
			otherwise := "must be given"
			if f.Default != "" {
				otherwise = "default " + f.Default
			}
			return f, []string{f.Path, fmt.Sprintf("%s (%s; %s)", f.About, f.Type, otherwise)}
		}),
		claims(),
		listOf("planted", "the planted bugs with which the tester is tested", []string{"PLANTED", "OF", "BUG"}, catalogue.Planted(), func(v impls.Variant) (any, []string) {
			p := v.Planted
			return planted{v.Name, p}, []string{v.Name, p.Of, p.Bug + " (" + p.Report + ")"}
		}),
	}
}

func newList(a *app) *cobra.Command {
	all := listings()
	names := namesOf(all, func(l listing) string { return l.name })
	return &cobra.Command{
		Use:       "list [WHAT]",
		Short:     "List locks, scenarios, faults, planted bugs and more",
		Long:      "list shows locks, scenarios and the fields of their files, workloads, faults, what the sources of the locks claim, and planted bugs. Without an argument it shows everything.",
		Example:   "  lockbench list locks\n  lockbench list scenarios -o json",
		Args:      oneOf(names),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return a.list(all[slices.Index(names, args[0])])
			}
			if a.json() {
				items := map[string]any{}
				for _, l := range all {
					items[l.name] = l.items
				}
				return a.writeJSON(items)
			}
			for i, l := range all {
				head := [][]string{nil, {l.name + ": " + l.about}}
				if i == 0 {
					head = head[1:]
				}
				if err := errors.Join(a.table(head...), a.list(l)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (a *app) list(l listing) error {
	if a.json() {
		return a.writeJSON(l.items)
	}
	return a.table(l.rows...)
}

func source(s impls.Source) string { return strings.TrimSuffix(s.Article+", "+s.Where, ", ") }

func listedLock(v impls.Variant) (any, []string) {
	item := struct {
		Name     string         `json:"name"`
		Kind     string         `json:"kind"`
		Source   string         `json:"source"`
		Topology impls.Topology `json:"topology"`
		Claims   []impls.Claim  `json:"claims"`
		Summary  string         `json:"summary"`
	}{v.Name, string(v.Kind), source(v.Source), v.Topology, append([]impls.Claim{}, v.Claims...), v.Summary}
	return item, []string{v.Name, string(v.Kind), string(v.Topology), v.Summary}
}

func listedScenario(s scenarios.Scenario) (any, []string) {
	item := struct {
		Name     string   `json:"name"`
		About    string   `json:"about"`
		Workload string   `json:"workload"`
		Faults   []string `json:"faults"`
	}{s.Name, s.About, s.Workload, []string{}}
	for _, f := range s.Faults {
		item.Faults = append(item.Faults, f.Fault)
	}
	return item, []string{s.Name, s.Workload, s.About}
}

func listedFault(k faults.Kind) (any, []string) {
	item := struct {
		Name    string   `json:"name"`
		About   string   `json:"about"`
		InSim   string   `json:"in_simulator"`
		Servers string   `json:"on_servers"`
		Refused []string `json:"refused"` // servers and topologies that cannot have it
	}{k.Name, k.About, k.InSim, k.OnServers, []string{}}
	if k.Own {
		item.Refused = append(item.Refused, "url")
	}
	for _, t := range impls.Topologies() {
		if k.Not[t] != "" {
			item.Refused = append(item.Refused, string(t))
		}
	}
	text := fmt.Sprintf("%s. In the simulator: %s. On servers: %s.", k.About, k.InSim, k.OnServers)
	if len(item.Refused) > 0 {
		text += " Not on: " + strings.Join(item.Refused, ", ") + "."
	}
	return item, []string{k.Name, text}
}

func claims() listing {
	type claim struct {
		Lock   string `json:"lock"`
		Source string `json:"source"`
		impls.Claim
	}
	var all []claim
	for _, v := range catalogue.Locks() {
		for _, c := range v.Claims {
			all = append(all, claim{v.Name, v.Source.Article, c})
		}
	}
	return listOf("claims", "what the sources of the locks claim, and whether it holds", []string{"LOCK", "HOLDS", "CLAIM"}, all, func(c claim) (any, []string) {
		return c, []string{c.Lock, map[bool]string{true: "yes", false: "NO"}[c.Holds], fmt.Sprintf("%s (%s; %s)", c.Text, c.Source, c.Command)}
	})
}
