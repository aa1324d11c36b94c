package main

import (
	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/workloads"
)

// listing is one list, as JSON and as a table.
type listing struct {
	name, about string
	items       func() any        // marshals to an array
	rows        func() [][]string // the first one is the header
}

// listings returns the lists in the order of "lockbench list".
func listings() []listing {
	return []listing{
		{"locks", "the locks that can be run", func() any { return lockItems(catalogue.Locks()) }, func() [][]string { return lockRows(catalogue.Locks()) }},
		{"scenarios", "what is done to them", scenarioItems, scenarioRows},
		{"workloads", "what clients do", workloadItems, workloadRows},
		{"faults", "what can go wrong", faultItems, faultRows},
		{"planted", "the planted bugs with which the tester is tested", plantedItems, plantedRows},
	}
}

func newList(a *app) *cobra.Command {
	all := listings()
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.name
	}
	return &cobra.Command{
		Use:       "list [locks|scenarios|workloads|faults|planted]",
		Short:     "List locks, scenarios, workloads, faults or planted bugs",
		Long:      "list shows locks, scenarios, workloads, faults and planted bugs. Without an argument it shows everything.",
		Example:   "  lockbench list locks\n  lockbench list scenarios -o json",
		Args:      oneOf(names),
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listAll(all)
			}
			for _, l := range all {
				if l.name == args[0] {
					return a.list(l)
				}
			}
			return nil // OnlyValidArgs leaves nothing else
		},
	}
}

func (a *app) list(l listing) error {
	if a.json() {
		return a.writeJSON(l.items())
	}
	return a.table(l.rows()...)
}

func (a *app) listAll(all []listing) error {
	if a.json() {
		out := map[string]any{}
		for _, l := range all {
			out[l.name] = l.items()
		}
		return a.writeJSON(out)
	}
	for i, l := range all {
		var rows [][]string
		if i > 0 {
			rows = append(rows, nil)
		}
		if err := a.table(append(rows, []string{l.name + ": " + l.about})...); err != nil {
			return err
		}
		if err := a.list(l); err != nil {
			return err
		}
	}
	return nil
}

// lockItem is one lock in JSON.
type lockItem struct {
	Name     string         `json:"name"`
	Kind     string         `json:"kind"`
	Source   string         `json:"source"`
	Topology impls.Topology `json:"topology"`
	Claims   []claimItem    `json:"claims"`
	Summary  string         `json:"summary"`
}

type claimItem struct {
	Text    string `json:"text"`
	Holds   bool   `json:"holds"` // whether the measurements bear it out
	Command string `json:"command,omitempty"`
}

func lockItems(all []impls.Variant) []lockItem {
	out := make([]lockItem, len(all))
	for i, v := range all {
		out[i] = lockItem{v.Name, string(v.Kind), source(v.Source), v.Topology, []claimItem{}, v.Summary}
		for _, c := range v.Claims {
			out[i].Claims = append(out[i].Claims, claimItem(c))
		}
	}
	return out
}

func source(s impls.Source) string {
	if s.Where == "" {
		return s.Article
	}
	return s.Article + ", " + s.Where
}

func lockRows(all []impls.Variant) [][]string {
	rows := [][]string{{"LOCK", "KIND", "SERVERS", "HOW IT WORKS"}}
	for _, v := range all {
		rows = append(rows, []string{v.Name, string(v.Kind), string(v.Topology), v.Summary})
	}
	return rows
}

// plantedItem is one planted bug in JSON.
type plantedItem struct {
	Name   string `json:"name"`
	Of     string `json:"of"`
	Bug    string `json:"bug"`
	Report string `json:"report"`
}

func plantedItems() any {
	out := []plantedItem{}
	for _, v := range catalogue.Planted() {
		out = append(out, plantedItem{v.Name, v.Planted.Of, v.Planted.Bug, v.Planted.Report})
	}
	return out
}

func plantedRows() [][]string {
	rows := [][]string{{"PLANTED", "OF", "BUG"}}
	for _, v := range catalogue.Planted() {
		rows = append(rows, []string{v.Name, v.Planted.Of, v.Planted.Bug + " (" + v.Planted.Report + ")"})
	}
	return rows
}

// workloadItem is one workload in JSON.
type workloadItem struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func workloadItems() any {
	out := []workloadItem{}
	for _, w := range workloads.All() {
		out = append(out, workloadItem{w.Name(), w.About()})
	}
	return out
}

func workloadRows() [][]string {
	rows := [][]string{{"WORKLOAD", "WHAT CLIENTS DO"}}
	for _, w := range workloads.All() {
		rows = append(rows, []string{w.Name(), w.About()})
	}
	return rows
}
