package harness

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// spoolEvery is the interval of writes: how much of a run is lost if lockbench is killed.
const spoolEvery = 200 * time.Millisecond

// pipeDelay is how late, in nanoseconds, the recorder may hear of an operation of a client that is
// a process.
const pipeDelay = int64(100 * time.Millisecond)

// spool writes what the clients did, and windows that have ended, to disk during the run, and
// reports progress. end owns its one goroutine.
type spool struct {
	driver  *serverDriver
	file    *blocks  // the recording; nil: not saved
	faults  *os.File // nil: not saved
	server  *os.File // of the steps; nil: not saved
	windows int      // number of windows written to faults
	quit    chan struct{}
	done    sync.WaitGroup
	err     error // of the goroutine; read after it has ended
}

// startSpool opens the files, if the run is saved, and starts the goroutine. Errors of files are
// returned by end: the run goes on.
func startSpool(d *serverDriver, dir *results.Dir) *spool {
	s := &spool{driver: d, quit: make(chan struct{})}
	if dir != nil {
		s.err = s.begin(dir)
	}

	s.done.Go(func() {
		tick := time.NewTicker(spoolEvery)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
				s.write(d.timeline() - pipeDelay)
				d.report(d.progress())
			}
		}
	})
	return s
}

// begin creates the files with their headers, and an empty history, in place of which check reads
// the recording until the clients are done.
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
	err = dir.SaveFunc(results.HistoryFile, func(w io.Writer) error { return history.WriteHistory(w, header, nil) })
	if steps := s.driver.steps; err == nil && steps != nil { // their file survives this process, too
		if head, err = history.LoggedHead(history.AppendOnly + ", as read while the clients ran"); err != nil {
			return err
		}
		if s.server, err = dir.Begin(results.ServerFile, head); err == nil {
			steps.file, err = history.NewLoggedWriter(s.server)
		}
	}
	return err
}

// write writes what was recorded, and the windows measured since the last call, with a single
// write. All that had returned by an instant is there.
func (s *spool) write(by int64) {
	if s.driver.steps != nil {
		s.driver.steps.read()
	}
	if s.file != nil {
		_ = s.driver.recorder.Spill(s.file, by) // s.file keeps in memory what it cannot save
	}
	if s.faults == nil || s.err != nil {
		return
	}
	measured := s.driver.director.Complete()
	var text []byte
	for i := s.windows; i < len(measured); i++ {
		text = history.AppendWindow(text, &measured[i])
	}
	if s.windows = len(measured); len(text) > 0 {
		if _, err := s.faults.Write(text); err != nil {
			s.err = fmt.Errorf("save faults: %w", err)
		}
	}
}

// end writes the rest and closes the files. It returns the recording, nil if there is none, and the
// errors of the files.
func (s *spool) end() (*blocks, error) {
	close(s.quit)
	s.done.Wait()
	s.write(math.MaxInt64)
	err := s.err
	if steps := s.driver.steps; steps != nil {
		if steps.file != nil {
			err = errors.Join(err, steps.save, steps.file.Close())
		}
		err = errors.Join(err, steps.log.Close())
	}
	if s.server != nil {
		err = errors.Join(err, s.server.Close())
	}
	if s.faults != nil {
		err = errors.Join(err, s.faults.Close())
	}
	if s.file != nil {
		err = errors.Join(err, s.file.err, s.file.file.Close())
	}
	return s.file, err
}

// blocks is a file that is written block by block. From the first block that cannot be written on,
// blocks are kept in memory.
type blocks struct {
	file *os.File
	size int64 // of the whole blocks in the file
	rest bytes.Buffer
	err  error // why blocks are in memory
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

func (d *serverDriver) progress() Progress {
	p := Progress{Phase: "clients", Elapsed: time.Duration(d.timeline()),
		Total: time.Duration(d.warm() + d.length()), Expected: int64(d.Scenario.Ops * d.Scenario.Clients)}
	if d.length() == 0 {
		p.Total = 0
	}
	if d.overlaps != nil {
		p.Overlaps = d.overlaps.found.Load()
	}
	p.Faults, p.Current = len(d.director.Complete()), d.director.Current()
	d.joining.Lock()
	joined := slices.Clone(d.records)
	d.joining.Unlock()
	var live []*latency.Live
	for _, c := range joined {
		p.Rounds += c.counts[history.OK].Load()
		p.Refused += c.counts[history.Busy].Load()
		p.Failed += c.counts[history.Fail].Load()
		p.Unknown += c.counts[history.Unknown].Load()
		live = append(live, &c.waits)
	}
	waits := latency.Waits(live...)
	p.P50, p.P99 = time.Duration(waits.ValueAtPercentile(50)), time.Duration(waits.ValueAtPercentile(99))
	return p
}

func (d *serverDriver) header() history.Header {
	h := d.Variant.Header(int64(d.lease()), d.topology(), d.servers.lock.Len())
	h.Permits, h.ClockError, h.Epoch = max(d.Scenario.Permits, 1), d.clockError, d.base.UnixNano()
	h.Copies = d.servers.lock.Sentinels() != nil
	return h
}
