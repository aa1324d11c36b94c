package harness

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	moby "github.com/moby/moby/client"
)

// held counts the resources that this process uses.
type held struct {
	goroutines, files, children, containers, directories int
	heap                                                 int // MiB that a collection leaves
}

// heapRoom is how much of the heap, in MiB, pools and caches may take; an experiment that is kept
// takes more in a few rounds.
const heapRoom = 16

// holdings counts them; containers and directories are those of deployments under a directory.
func holdings(t *testing.T, under string) held {
	t.Helper()
	containers := containers(t, under) // first: the request opens connections
	directories, err := os.ReadDir(under)
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	return held{runtime.NumGoroutine(), len(files), len(children(t)), containers, len(directories), liveHeap()}
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

// containers counts the containers of deployments under a directory, running or not; 0 without an
// engine.
func containers(t *testing.T, under string) (n int) {
	t.Helper()
	engine, err := moby.New(moby.FromEnv)
	if err != nil {
		return 0
	}
	defer engine.Close()
	list, err := engine.ContainerList(t.Context(), moby.ContainerListOptions{All: true, Filters: make(moby.Filters).Add("label", "lockbench.workspace")})
	if err != nil {
		return 0
	}
	for _, c := range list.Items {
		if strings.HasPrefix(c.Labels["lockbench.workspace"], under) {
			n++
		}
	}
	return n
}

// settleTime is how long closing resources may take, such as the connections of a closed Redis
// client.
const settleTime = 5 * time.Second

func (h held) exceeds(before held) bool {
	return h.goroutines > before.goroutines || h.files > before.files || h.children > before.children || h.containers > before.containers || h.directories > before.directories ||
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
