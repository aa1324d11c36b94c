package harness

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/lockbench/lockbench/history"
)

// stallWatch measures how late the machine lets this process run: a goroutine that asks to be woken every stallTick sees how much
// later it was. A machine that is short of processors stalls clients in a way that nobody placed and that no window records.
type stallWatch struct {
	now     func() time.Time
	longest atomic.Int64
	quit    chan struct{}
	done    chan struct{}
}

// stallTick is short beside every lease and costs a five-hundredth of one processor.
const stallTick = 2 * time.Millisecond

// watchStalls starts to watch; end must be called.
func watchStalls(now func() time.Time) *stallWatch {
	w := &stallWatch{now: now, quit: make(chan struct{}), done: make(chan struct{})}
	go w.run()
	return w
}

func (w *stallWatch) run() { // owned by end
	defer close(w.done)
	t := time.NewTimer(stallTick)
	defer t.Stop()
	for asked := w.now(); ; asked = w.now() {
		select {
		case <-w.quit:
			return
		case <-t.C:
		}
		if late := w.now().Sub(asked) - stallTick; late > time.Duration(w.longest.Load()) {
			w.longest.Store(int64(late))
		}
		t.Reset(stallTick)
	}
}

// end stops watching and gives the longest stall.
func (w *stallWatch) end() time.Duration {
	close(w.quit)
	<-w.done
	return time.Duration(w.longest.Load())
}

// stallShare is the share of a lease from which a stall of the machine counts as a fault that nobody placed: a tenth is twice what
// quorum locks give a node to answer, and no scenario places two moments closer together.
const stallShare = 10

// slowestReply is the longest time that a request took while no fault was in force, which is the machine's doing, too: its
// servers are processes that can be stalled as well as the clients.
func slowestReply(commands []history.Command, windows []history.Window) (longest time.Duration) {
	for _, c := range commands {
		took := time.Duration(c.Replied - c.Sent)
		if took > longest && !waits[c.Name] && !meetsFault(c, windows) {
			longest = took
		}
	}
	return longest
}

// waits are the commands whose reply may be meant to come late.
var waits = map[string]bool{"WAIT": true, "BLPOP": true, "BRPOP": true, "BLMOVE": true, "BLMPOP": true, "BZPOPMIN": true}

func meetsFault(c history.Command, windows []history.Window) bool {
	return slices.ContainsFunc(windows, func(w history.Window) bool { return w.Start <= c.Replied && c.Sent <= w.Last() })
}
