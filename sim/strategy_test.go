package sim

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/faults"
)

// TestStrikeComesTooLate: a client closes a connection after a fault of its message was chosen and before it strikes. The fault has no effect.
func TestStrikeComesTooLate(t *testing.T) {
	for _, fault := range []string{faults.LoseRequest, faults.DelayRequest, faults.LoseReply, faults.DelayReply} {
		t.Run(fault, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				cn := w.sendsTo(w.nodes[0])
				cn.writes(t, "SET a 1")
				w.settleInstant()
				if fault == faults.LoseReply || fault == faults.DelayReply {
					w.apply(oldest(w.options()))
				}
				w.possible = w.options()
				struck := 0
				w.messageFaults(fault, time.Second, func(s faults.Spec, message func() faults.Message, _ string, _ ...any) {
					struck++
					cn.requests, cn.replies = nil, nil
					w.place(s, message)
				})
				if windows := w.director.Windows(); struck == 0 || len(windows) > 0 {
					t.Errorf("%d strikes, windows %v; want some, and no windows", struck, windows)
				}
			})
		})
	}
}
