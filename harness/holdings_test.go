package harness

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// held counts the resources that this process uses.
type held struct {
	goroutines, files, children, directories int
	heap                                     int // MiB that a collection leaves
}

// heapRoom is how much of the heap, in MiB, pools and caches may take; an experiment that is kept
// takes more in a few rounds.
const heapRoom = 16

// holdings counts them; directories are those of deployments under a directory, containers' too.
func holdings(t *testing.T, under string) held {
	t.Helper()
	directories, err := os.ReadDir(under)
	must(t, err)
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return held{runtime.NumGoroutine(), len(files), len(children(t)), len(directories), liveHeap()}
}

// liveHeap returns the size of what is still in use, in MiB.
func liveHeap() int {
	for range 2 { // a sync.Pool keeps its objects for one collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// children lists this process's child processes.
func children(t *testing.T) []string {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip(err)
	}
	var pids []string
	for _, task := range tasks {
		// a thread that has ended has no children
		text, _ := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		pids = append(pids, strings.Fields(string(text))...)
	}
	return pids
}

// settleTime is how long closing resources may take, such as the connections of a closed Redis
// client.
const settleTime = 5 * time.Second

func (h held) exceeds(before held) bool {
	return h.goroutines > before.goroutines || h.files > before.files || h.children > before.children || h.directories > before.directories ||
		h.heap > before.heap+heapRoom
}

func (h held) expectNoMore(t *testing.T, under string) {
	t.Helper()
	now := holdings(t, under)
	for end := time.Now().Add(settleTime); now.exceeds(h) && time.Now().Before(end); now = holdings(t, under) {
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("before %+v, after %+v", h, now)
	if now.exceeds(h) {
		t.Errorf("left behind: %+v, there was %+v; children %v", now, h, children(t))
	}
}
