package faults

import (
	"slices"
	"testing"
)

// A failover loses the writes that the replica had not received: the replication ends where it
// received the last.
func TestPlayableSchedule(t *testing.T) {
	step := func(id int, kind stepKind, fault string) Step {
		return Step{ID: id, Kind: kind, At: int64(id), Fault: Spec{Fault: fault}}
	}
	schedule := Schedule{step(1, StepRequest, ""), step(2, StepReplicate, ""), step(3, StepReply, ""), step(4, StepRequest, ""),
		step(5, StepBegin, Failover), step(6, StepEnd, Failover), step(7, StepBegin, DeleteKey)}
	var got []int
	for _, s := range schedule.Playable() {
		got = append(got, s.ID)
	}
	if want := []int{1, 5, 3, 4, 6, 7}; !slices.Equal(got, want) {
		t.Errorf("steps %v, want %v", got, want)
	}
}
