package report

import (
	"slices"

	"github.com/lockbench/lockbench/results"
)

// Question is a scenario that somebody who chooses a lock asks about.
type Question struct {
	Scenario string
	Head     string // of its column
	Asks     string // the same in a few words
}

// Questions returns the scenarios of the README's table, in its order.
func Questions() []Question {
	return []Question{
		{"crash-holder", "crash", "the holder crashes"},
		{"pause-holder", "stall", "the holder stalls past its lease"},
		{"slow-work", "long work", "the work takes longer than the lease"},
		{"lost-reply-acquire", "reply", "the reply to an acquire is lost"},
		{"kill-server", "data loss", "the server loses its data"},
		{"failover", "failover", "a replica without the key takes over"},
		{"clock-jump", "clock", "the server's clock jumps"},
	}
}

// Asked returns the questions that a suite answers.
func Asked(cells []results.Cell) []Question {
	return slices.DeleteFunc(Questions(), func(q Question) bool {
		return !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Scenario == q.Scenario })
	})
}

// EndingsOf returns how some cells ended, the worst first.
func EndingsOf(cells []results.Cell) []results.Ending {
	return slices.DeleteFunc(results.Endings(), func(e results.Ending) bool {
		return !slices.ContainsFunc(cells, func(c results.Cell) bool { return c.Ending() == e })
	})
}
