package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// spoolEvery is how much of a run can be lost when lockbench itself is killed.
const spoolEvery = 200 * time.Millisecond

// spool writes out, while the run goes on, what the clients did and the fault windows that have ended, and tells the progress. One
// goroutine, owned by end.
type spool struct {
	driver  *serverDriver
	file    *blocks  // the recording; nil: it is not saved
	faults  *os.File // nil: they are not saved
	windows int      // how many of the run's are in faults
	quit    chan struct{}
	done    sync.WaitGroup
	err     error // of the goroutine; read after it has ended
}

// startSpool opens the files, if the run is saved, and starts the goroutine. What goes wrong with a file is reported by end: the run goes on.
func startSpool(d *serverDriver, dir *results.Dir) *spool {
	s := &spool{driver: d, quit: make(chan struct{})}
	if dir != nil {
		s.err = s.begin(dir)
	}
	s.done.Go(s.loop)
	return s
}

// begin makes the files, each with its head from the first instant on; and a history that is empty until the clients are done: check, given
// its name, reads the recording.
func (s *spool) begin(dir *results.Dir) (err error) {
	header := s.driver.header()
	head := history.RecordingHead(header)
	file, err := dir.Begin(results.RecordingFile, head)
	if err != nil {
		return err
	}
	s.file = &blocks{file: file, size: int64(len(head))}
	if s.faults, err = dir.Begin(results.FaultsFile, history.FaultsHead()); err != nil {
		return err
	}
	return dir.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, header, nil) })
}

func (s *spool) loop() {
	tick := time.NewTicker(spoolEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			s.write()
			s.driver.tell(s.driver.progress())
		}
	}
}

func (s *spool) write() {
	if s.file != nil {
		_ = s.driver.recorder.Spill(s.file) // which keeps what it cannot save
	}
	if s.faults != nil && s.err == nil {
		s.err = s.writeWindows()
	}
}

// writeWindows adds the fault windows that were measured since it was called last, with a single write.
func (s *spool) writeWindows() error {
	measured := s.driver.windows.all()
	var text []byte
	for i := s.windows; i < len(measured); i++ {
		text = history.AppendWindow(text, &measured[i])
	}
	if len(text) == 0 {
		return nil
	}
	s.windows = len(measured)
	if _, err := s.faults.Write(text); err != nil {
		return fmt.Errorf("save faults: %w", err)
	}
	return nil
}

// end writes what is left and closes the files. It returns the recording, nil where there is none, and what could not be saved.
func (s *spool) end() (*blocks, error) {
	close(s.quit)
	s.done.Wait()
	s.write()
	err := s.err
	if s.faults != nil {
		err = errors.Join(err, s.faults.Close())
	}
	if s.file != nil {
		err = errors.Join(err, s.file.err, s.file.file.Close())
	}
	return s.file, err
}

// blocks is a file that is written block by block. From the first block on that it has no room for, the rest is kept in memory.
type blocks struct {
	file *os.File
	size int64 // of the whole blocks in the file
	rest bytes.Buffer
	err  error // why there is a rest
}

// Write never fails.
func (b *blocks) Write(block []byte) (int, error) {
	if b.err == nil {
		var n int
		if n, b.err = b.file.Write(block); b.err == nil {
			b.size += int64(n)
			return n, nil
		}
		b.err = errors.Join(b.err, b.file.Truncate(b.size))
	}
	return b.rest.Write(block)
}

// recorded reads everything back. The file is closed.
func (b *blocks) recorded() (history.Recorded, error) {
	file, err := os.Open(b.file.Name())
	if err != nil {
		return history.Recorded{}, err
	}
	defer file.Close()
	return history.ReadRecording(io.MultiReader(file, &b.rest), b.file.Name())
}

// progress is what the run has come to.
func (d *serverDriver) progress() Progress {
	p := Progress{Phase: "clients", Elapsed: time.Duration(d.timeline()),
		Total: time.Duration(d.warm() + d.length()), Expected: int64(d.Scenario.Ops * d.Scenario.Clients)}
	if d.length() == 0 {
		p.Total = 0
	}
	if d.overlaps != nil {
		p.Overlaps = d.overlaps.found.Load()
	}
	p.Faults, p.Current = len(d.windows.all()), d.director.Current()
	d.joining.Lock()
	joined, all := slices.Clone(d.latency), slices.Clone(d.counts)
	d.joining.Unlock()
	for _, c := range all {
		p.Rounds, p.Refused, p.Failed, p.Unknown = p.Rounds+c.granted.Load(), p.Refused+c.refused.Load(), p.Failed+c.failed.Load(), p.Unknown+c.unknown.Load()
	}
	if d.measures() {
		waits := latency.Live(latency.Acquire, joined...)
		p.P50, p.P99 = waits.Quantile(0.5), waits.Quantile(0.99)
	}
	return p
}

// header describes the history to whoever reads it.
func (d *serverDriver) header() history.Header {
	return history.Header{Lock: d.Variant.Name, Kind: d.Variant.Kind, Lease: int64(d.claimedLease()),
		Permits: max(d.Scenario.Permits, 1), ClockError: d.clockError, Votes: d.Variant.Votes(),
		Wakeups: d.Variant.Traits.Wakeups, FIFO: d.Variant.Traits.FIFO, LeaseFromAsking: d.Variant.Traits.FromAsking, Epoch: d.base.wall()}
}
