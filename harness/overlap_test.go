package harness

import (
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestOverlaps: which uses count as overlaps. They are added in the order of their ends.
func TestOverlaps(t *testing.T) {
	type use struct {
		client    string
		mode      history.Mode
		call, ret int64
	}
	const exclusive, shared = history.Exclusive, history.Shared
	for _, row := range []struct {
		why   string
		slack int64
		uses  []use
		want  int64
	}{
		{"one after the other", 0, []use{{"c1", exclusive, 0, 10}, {"c2", exclusive, 10, 20}, {"c1", exclusive, 20, 30}}, 0},
		{"two at once", 0, []use{{"c1", exclusive, 0, 10}, {"c2", exclusive, 9, 20}}, 1},
		{"the one outside the other", 0, []use{{"c1", exclusive, 5, 6}, {"c2", exclusive, 0, 20}}, 1},
		{"within what clocks may disagree", 2, []use{{"c1", exclusive, 0, 10}, {"c2", exclusive, 9, 20}}, 0},
		{"a client inside itself", 0, []use{{"c1", exclusive, 5, 6}, {"c1", exclusive, 0, 20}}, 0},
		{"and another behind its own", 0, []use{{"c2", exclusive, 0, 10}, {"c1", exclusive, 10, 20}, {"c1", exclusive, 9, 30}}, 1},
		{"readers", 0, []use{{"c1", shared, 0, 10}, {"c2", shared, 5, 20}}, 0},
		{"a reader and a writer", 0, []use{{"c1", shared, 0, 10}, {"c2", exclusive, 5, 20}}, 1},
		{"a writer and a reader", 0, []use{{"c1", exclusive, 0, 10}, {"c2", shared, 5, 20}}, 1},
	} {
		o := &overlaps{slack: row.slack}
		for _, u := range row.uses {
			o.add(u.client, history.Operation{Op: history.Use, Key: "k", Mode: u.mode, Call: u.call, Return: u.ret})
		}
		if got := o.found.Load(); got != row.want {
			t.Errorf("%s: %d, want %d", row.why, got, row.want)
		}
	}
	(*overlaps)(nil).add("c1", history.Operation{Op: history.Use, Key: "k", Return: 1})
}
