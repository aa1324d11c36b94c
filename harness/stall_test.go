package harness

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
)

func TestSlowestReply(t *testing.T) {
	fault := history.Window{Start: 100, End: 200}
	forever := history.Window{Start: 100}
	tests := []struct {
		name     string
		commands []history.Command
		windows  []history.Window
		want     time.Duration
	}{
		{"none", nil, nil, 0},
		{"the longest", []history.Command{{Sent: 10, Replied: 20}, {Sent: 30, Replied: 80}, {Sent: 81, Replied: 82}}, nil, 50},
		{"no reply was seen", []history.Command{{Sent: 10}}, nil, 0},
		{"one that is meant to wait", []history.Command{{Name: "WAIT", Sent: 10, Replied: 80}}, nil, 0},
		{"within a fault", []history.Command{{Sent: 120, Replied: 150}}, []history.Window{fault}, 0},
		{"across a fault", []history.Command{{Sent: 10, Replied: 300}}, []history.Window{fault}, 0},
		{"before a fault", []history.Command{{Sent: 10, Replied: 90}}, []history.Window{fault}, 80},
		{"after a fault", []history.Command{{Sent: 210, Replied: 250}}, []history.Window{fault}, 40},
		{"after a fault that did not end", []history.Command{{Sent: 210, Replied: 250}}, []history.Window{forever}, 0},
	}
	for _, tt := range tests {
		if got := slowestReply(tt.commands, tt.windows); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestStallWatchSeesAMachineThatStandsStill(t *testing.T) {
	const stood = 700 * time.Millisecond
	var reads atomic.Int64
	jumping := make(chan struct{})
	end := watchStalls(func() time.Time { // the machine stalls between the third reading and the fourth
		n := reads.Add(1)
		if n == 4 {
			close(jumping)
		}
		if n >= 4 {
			return time.Now().Add(stood)
		}
		return time.Now()
	})
	<-jumping
	if got := end(); got < stood/2 {
		t.Errorf("longest stall %v, want about %v", got, stood)
	}
}
