package locktest

import (
	"testing"

	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/sim"
)

// TestExploreSparesTheToken: a lock that keeps its promise passes.
func TestExploreSparesTheToken(t *testing.T) {
	v, _ := catalogue.Find("token")
	Explore(t, v.New, ExploreOptions{Name: v.Name, Traits: v.Traits, Schedules: 300})
}

// TestExploreConfigFindsTheMisUnlock: what Explore is asked with finds a lock that releases what is not its own.
func TestExploreConfigFindsTheMisUnlock(t *testing.T) {
	v, _ := catalogue.Find("set-nx-ex")
	s := sim.New(nil)
	defer s.Close()
	r, err := s.Explore(t.Context(), ExploreOptions{Traits: v.Traits}.config(t.Name(), v.New))
	if err != nil {
		t.Fatal(err)
	}
	if r.First == nil || r.First.Cause != "mis-unlock" {
		t.Errorf("found %+v, want a mis-unlock", r.First)
	}
}
