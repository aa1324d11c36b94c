package harness

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// spoolEvery is how much of a run can be lost when lockbench itself is killed.
const spoolEvery = 200 * time.Millisecond

// spool writes the record out while the run goes on, and tells the progress. One goroutine, owned by end.
type spool struct {
	drive *drive
	file  *history.Recording // nil: nothing is saved
	quit  chan struct{}
	done  sync.WaitGroup
	err   error // of the goroutine; read after it has ended
}

// startRecording makes the recording, and a history that is empty until the clients are done: check, given its name, reads the recording.
func (k *keeper) startRecording(h history.Header) (*history.Recording, error) {
	file, err := history.CreateRecording(k.dir.File(results.RecordingFile), h)
	return file, errors.Join(err, history.Save(k.dir.File(results.HistoryFile), h, nil))
}

// startSpool opens the file and starts the goroutine. What goes wrong with the file is reported by end: the run goes on.
func (k *keeper) startSpool(d *drive) *spool {
	s := &spool{drive: d, quit: make(chan struct{})}
	if k.dir != nil {
		s.file, s.err = k.startRecording(d.header())
	}
	s.done.Go(s.loop)
	return s
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
			s.drive.tell(s.drive.progress())
		}
	}
}

func (s *spool) write() {
	if s.file != nil && s.err == nil {
		s.err = s.drive.recorder.Spill(s.file)
	}
}

// end writes what is left and closes the file.
func (s *spool) end() error {
	close(s.quit)
	s.done.Wait()
	s.write()
	if s.file == nil {
		return s.err
	}
	return errors.Join(s.err, s.file.Close())
}

// progress is what the run has come to.
func (d *drive) progress() Progress {
	p := Progress{Phase: "clients", Elapsed: time.Duration(d.timeline()), Rounds: d.counts.granted.Load(),
		Refused: d.counts.refused.Load(), Unknown: d.counts.unknown.Load(), Expected: int64(d.Scenario.Ops * d.Scenario.Clients)}
	p.Faults = len(d.windows.List())
	if d.measures() {
		d.joining.Lock()
		joined := slices.Clone(d.latency)
		d.joining.Unlock()
		waits := latency.Live(latency.Acquire, joined...)
		p.P50, p.P99 = waits.Quantile(0.5), waits.Quantile(0.99)
	}
	return p
}

// header describes the history to whoever reads it.
func (d *drive) header() history.Header {
	return history.Header{Lock: d.Variant.Name, Kind: d.Variant.Kind, Lease: int64(d.claimedLease()),
		Permits: max(d.Scenario.Permits, 1), ClockError: d.clockError, Votes: d.Variant.Votes(),
		Wakeups: d.Variant.Traits.Wakeups, FIFO: d.Variant.Traits.FIFO}
}
