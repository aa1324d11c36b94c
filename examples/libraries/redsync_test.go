package main

import (
	"testing"

	"github.com/lockbench/lockbench/locktest"
)

// TestRedsyncOnRedigo: the library passes no context to redigo's requests, so only a time-out of
// the pool ends one without a reply (no-answer).
func TestRedsyncOnRedigo(t *testing.T) {
	t.Parallel()
	locktest.Run(t, newRedsyncLock, locktest.Breaks("no-answer"))
}

func TestRedsyncOnRedigoSchedules(t *testing.T) {
	t.Parallel()
	locktest.Explore(t, newRedsyncLock, locktest.Schedules(500))
}
