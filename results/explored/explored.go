// Package explored defines the record of a search through schedules. It is separate from package
// results so that the tests of libraries do not import the packages that only records of runs need.
package explored

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/verdicts"
)

// ExploreSchema is the schema name of an exploration's result.
const ExploreSchema = "lockbench/explore/v1"

// Exhaustive is the strategy that runs every schedule within its bounds.
const Exhaustive = "exhaustive"

// Exploration is the result of a search through the schedules of a lock.
type Exploration struct {
	Schema    string         `json:"schema"`
	Lock      string         `json:"lock"`
	Verdict   checker.Result `json:"verdict"`          // pass or fail; inconclusive when less was run than requested
	Reason    string         `json:"reason,omitempty"` // why it is inconclusive
	Schedules int            `json:"schedules"`
	// every schedule within the bounds was run or shown to be equal to one that was
	Exhausted bool   `json:"exhausted"`
	Strategy  string `json:"strategy"`
	// "2/8": the second of eight searches that share the schedules; Exhausted is of its share
	Shard   string  `json:"shard,omitempty"`
	Bounds  Bounds  `json:"bounds"`
	Seconds float64 `json:"seconds"`
	Virtual float64 `json:"virtual_seconds"` // virtual time of the same schedules
	States  int     `json:"states,omitempty"`
	// states that could not be pruned: a connection watched keys
	Unhashed int            `json:"unhashed_states,omitempty"`
	Steps    int            `json:"events"`
	Violated map[string]int `json:"violated,omitempty"` // schedules by "property/cause"
	// schedules with violations that no lock with a lease can prevent when its client stalls
	Excepted map[string]int `json:"excepted,omitempty"`
	// faults, moments and properties that no schedule reached: of them the search shows nothing
	NeverReached []string `json:"never_reached,omitempty"`
	First        *Finding `json:"first,omitempty"`
	Warnings     []string `json:"warnings,omitempty"`
	Seed         uint64   `json:"seed"`
	GoTest       string   `json:"go_test,omitempty"` // replays the shrunk tape
	// the command that runs the tape again; "" is lockbench replay TAPE
	Replay string `json:"replay,omitempty"`
	Rerun  string `json:"rerun"`
	Live   bool   `json:"live,omitempty"` // of real processes, in real time
}

// Finding is the first violation that an exploration found.
type Finding struct {
	Schedule int               `json:"schedule"`
	Property verdicts.Property `json:"property"`
	Cause    verdicts.Cause    `json:"cause"`
	Clients  int               `json:"clients"`
	Ops      int               `json:"operations"` // rounds of each client
	Steps    []string          `json:"steps"`
	TapeFile string            `json:"tape,omitempty"` // "" until the tape is saved
	Page     string            `json:"page,omitempty"` // of the schedule; "": none was made
}

// Bounds limits what a search may do besides ordering messages.
type Bounds struct {
	Faults    []string `json:"faults,omitempty"` // names of the faults it may place
	MaxFaults int      `json:"max_faults"`       // in one schedule
	MaxWaits  int      `json:"max_waits"`        // how often time may pass while messages are under way
	// longest such time, nanoseconds; 0 means a twentieth of the lease
	MaxDelay time.Duration `json:"max_delay,omitempty"`
	MaxSteps int           `json:"max_steps,omitempty"`  // after which the default is always chosen; 0 means 2,000
	Clients  int           `json:"clients,omitempty"`    // of the program, for the reader
	Ops      int           `json:"operations,omitempty"` // rounds of each client, for the reader
	// events take no time, as in an exhaustive search, instead of a microsecond each
	Instant bool `json:"instant,omitempty"`
}

// Exceptions lists the violations that are not findings, with the reason; "" if there are none.
func (x Exploration) Exceptions() string {
	var outlived, hindered []string
	for _, k := range slices.Sorted(maps.Keys(x.Excepted)) {
		text := k + " in 1 schedule"
		if n := x.Excepted[k]; n != 1 {
			text = fmt.Sprintf("%s in %d schedules", k, n)
		}
		if strings.HasPrefix(k, "progress/") {
			hindered = append(hindered, text)
		} else {
			outlived = append(outlived, text)
		}
	}
	var all []string
	if len(outlived) > 0 {
		all = append(all, strings.Join(outlived, ", ")+": a client outlived its lease, which no lease prevents")
	}
	if len(hindered) > 0 {
		all = append(all, strings.Join(hindered, ", ")+": a fault kept the client from the lock")
	}
	return strings.Join(all, "; ")
}
