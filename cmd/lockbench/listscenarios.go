package main

import (
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/scenarios"
)

// scenarioItem is a built-in scenario in JSON.
type scenarioItem struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Workload string   `json:"workload"`
	Faults   []string `json:"faults"`
}

func scenarioItems() any {
	out := []scenarioItem{}
	for _, s := range scenarios.Builtin() {
		item := scenarioItem{s.Name, s.About, s.Workload, []string{}}
		for _, f := range s.Faults {
			item.Faults = append(item.Faults, f.Fault)
		}
		out = append(out, item)
	}
	return out
}

func scenarioRows() [][]string {
	rows := [][]string{{"SCENARIO", "WORKLOAD", "WHAT IS DONE"}}
	for _, s := range scenarios.Builtin() {
		rows = append(rows, []string{s.Name, s.Workload, s.About})
	}
	return rows
}

// faultItem is one fault in JSON.
type faultItem struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

func faultItems() any {
	out := []faultItem{}
	for _, k := range faults.Kinds() {
		out = append(out, faultItem{k.Name, k.About})
	}
	return out
}

func faultRows() [][]string {
	rows := [][]string{{"FAULT", "WHAT HAPPENS"}}
	for _, k := range faults.Kinds() {
		rows = append(rows, []string{k.Name, k.About})
	}
	return rows
}
