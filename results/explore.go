package results

import "github.com/lockbench/lockbench/results/explored"

// The record of a search, see package explored.
type (
	Exploration = explored.Exploration
	Finding     = explored.Finding
	Bounds      = explored.Bounds
)

// ExploreSchema and Exhaustive are package explored's.
const (
	ExploreSchema = explored.ExploreSchema
	Exhaustive    = explored.Exhaustive
)
