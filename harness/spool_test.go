package harness

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// oneNode is a deployment of which only the number of its nodes is asked.
type oneNode struct{ servers.Deployment }

func (oneNode) Len() int { return 1 }

func (oneNode) Sentinels() *servers.Sentinels { return nil }

// A killed run leaves what was written last: every record, and every fault window that had ended.
func TestWhatIsWrittenWhileClientsRun(t *testing.T) {
	dir, err := results.Create(t.TempDir(), results.Name(time.Unix(0, 0), "x", "pause-holder", "token"), false)
	must(t, err)
	token, _ := catalogue.Find("token")
	clock, body := int64(0), inject.NewGoroutine()
	body.Scope(t.Context())
	world := inject.NewWorld(inject.Config{Timeline: func() int64 { return clock }})
	world.Enlist(1, body)
	d := &serverDriver{Experiment: Experiment{Variant: token}, servers: &deployment{lock: oneNode{}}, recorder: &history.Recorder{}}
	d.director = faults.NewDirector(faults.NewPlan(nil, time.Second, false), faults.DirectorConfig{World: world, Clients: 1})
	s := &spool{driver: d, quit: make(chan struct{})}
	must(t, s.begin(dir))
	c1 := d.recorder.Client("c1")
	for n := range 3 {
		recorded, err := history.LoadRecording(dir.File(results.RecordingFile))
		if err != nil || recorded.Header != d.header() || len(recorded.Ops) != n {
			t.Errorf("after %d writes: %+v, %v", n, recorded, err)
		}
		windows, err := history.LoadWindows(dir.File(results.FaultsFile))
		if diff := cmp.Diff(d.director.Complete(), windows); err != nil || diff != "" {
			t.Errorf("after %d writes: %v\n%s", n, err, diff)
		}
		clock = int64(n)
		c1.Add(history.Operation{Op: history.Use, Key: "k", Call: clock, Return: clock})
		if d.director.Place(t.Context(), faults.Spec{Fault: faults.CancelClient, Client: 1}, "now", nil); len(d.director.Complete()) != n+1 {
			t.Fatalf("windows %+v", d.director.Complete())
		}
		s.write(math.MaxInt64)
	}
	if _, err := s.end(); err != nil {
		t.Error(err)
	}
	if h, err := os.Stat(dir.File(results.HistoryFile)); err != nil || h.Size() == 0 {
		t.Errorf("the history that is not finished: %v, %v", h, err)
	}
}

// A file without room for a block keeps the whole blocks before it; the rest is kept in memory, and
// everything is read back.
func TestBlocksOutliveAFullDisk(t *testing.T) {
	head := history.RecordingHead(history.Header{Lock: "token", Kind: history.Mutex})
	path := filepath.Join(t.TempDir(), results.RecordingFile)
	file, err := os.Create(path)
	must(t, err)
	if _, err := file.Write(head); err != nil {
		t.Fatal(err)
	}
	b, r := &blocks{file: file, size: int64(len(head))}, &history.Recorder{}
	c1 := r.Client("c1")
	for n := range 4 {
		if n == 2 { // disk full from here on
			_ = file.Close()
		}
		c1.Add(history.Operation{Op: history.Use, Key: "k", Call: int64(n), Return: int64(n)})
		must(t, r.Spill(b, math.MaxInt64))
	}
	if b.err == nil {
		t.Error("the failure is not known")
	}
	all, err := b.recorded()
	if err != nil || len(all.Ops) != 4 {
		t.Errorf("%d operations, %v; want all 4", len(all.Ops), err)
	}
	saved, err := history.LoadRecording(path)
	if err != nil || len(saved.Ops) != 2 {
		t.Errorf("%d operations in the file, %v; want the first 2", len(saved.Ops), err)
	}
}
