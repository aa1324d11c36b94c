package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
)

// workerEnv marks a worker process: the same program, started again.
const workerEnv = "LOCKBENCH_SIM_WORKER"

// IsWorker reports whether this process is a worker. main, and every TestMain whose binary
// explores, must check it first and then call [WorkerMain].
func IsWorker() bool { return os.Getenv(workerEnv) != "" }

// WorkerMain runs a worker for variants of the catalogue: it reads one job from in, searches, and
// writes its results to out, one JSON object per line. It returns when the job is done or in ends.
// The result is the exit code of the process.
func WorkerMain(in io.Reader, out io.Writer, known sim.Catalogue) int {
	upstream.SilenceRedisLog()
	dedicateProcess()
	var j searchJob
	if err := subprocess.NewReader(in, 0).Receive(&j); err != nil {
		return 1
	}
	say := subprocess.NewWriter(out)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process: reading stdin cannot be interrupted
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	if err := work(ctx, j, say, known); err != nil {
		_ = say.Send(line{Error: err.Error()}) // an error here means that the reader is gone
		return 1
	}
	return 0
}

// dedicateProcess configures a process that only runs schedules. The returned function restores the
// settings.
func dedicateProcess() (back func()) {
	processors := runtime.GOMAXPROCS(1) // one schedule at a time: a second thread would only wake up late
	percent := debug.SetGCPercent(gcPercent)
	small := upstream.LargeStacks()
	return func() {
		small()
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	}
}

// gcPercent lets garbage grow to 16 times the live data, a few megabytes: a collection costs time
// by the live data, of which schedules leave none.
const gcPercent = 1600

func work(ctx context.Context, j searchJob, out *subprocess.Writer, known sim.Catalogue) error {
	h := sim.New(known)
	defer h.Close()
	s, err := newSearch(j, h)
	if err != nil {
		return err
	}
	say := func(l line) { _ = out.Send(l) } // when the reader is gone, stdin has ended, too
	if j.Echo {
		h.Echo(func(c sim.Choice) { say(line{Choice: &c}) })
	}
	last := time.Now()
	s.tell = func(l line) {
		if l.Progress != nil {
			if time.Since(last) < reportEvery {
				return
			}
			last = time.Now()
		}
		say(l)
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	return out.Send(line{Progress: &s.progress, Done: true})
}

const reportEvery = 100 * time.Millisecond

// death is how the lock under test ended a worker.
type death struct {
	schedule int
	prefix   []int
	why      string
	choices  []sim.Choice // of the schedule, if they were echoed
}

// graceToStop is how long a worker may take to end by itself.
const graceToStop = 5 * time.Second

// runWorker runs a worker on a job and passes on what it says. died is not nil if the lock under
// test killed it.
func (e *exploration) runWorker(ctx context.Context, j searchJob, heard func(line)) (died *death, err error) {
	w, lines, err := e.start(j)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = w.Kill()      // it may have ended
		for range lines { // drain the output
		}
		w.End(0)
	}()
	now := death{schedule: j.First}
	for {
		select {
		case <-ctx.Done(): // it ends by itself, and the rest of its output is heard
			w.CloseInput()
			late := time.AfterFunc(graceToStop, func() { _ = w.Kill() }) // which ends its output
			defer late.Stop()
			for l := range lines {
				heard(l)
				if l.Error != "" {
					return nil, errors.New(l.Error)
				}
			}
			return nil, nil
		case l, ok := <-lines:
			if !ok {
				<-w.Ended() // and all its output has been read
				now.why = cmp.Or(w.LastWords(), "the worker ended without any output")
				return &now, nil
			}
			heard(l)
			switch {
			case l.Begin != nil:
				now = death{schedule: *l.Begin, prefix: l.Prefix}
			case l.Choice != nil:
				now.choices = append(now.choices, *l.Choice)
			case l.Error != "":
				return nil, errors.New(l.Error)
			case l.Done:
				return nil, nil
			}
		}
	}
}

// hears returns what notes the results of a worker, by its number.
func (e *exploration) hears(part int) func(line) {
	return func(l line) {
		switch {
		case l.Begin != nil:
			e.begun(part, *l.Begin)
		case l.Finding != nil:
			e.found(*l.Finding)
		case l.Progress != nil:
			e.record(part, *l.Progress)
		}
	}
}

// start starts a worker; lines has what it says, and is closed at its end.
func (e *exploration) start(j searchJob) (w *subprocess.Process, lines chan line, err error) {
	command := e.cfg.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("explore: find this program: %w", err)
		}
		command = []string{self}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), e.cfg.Env...), workerEnv+"=1")
	lines = make(chan line, 256)
	w = subprocess.New(cmd, subprocess.Listener{Line: func(_ int, text []byte) error {
		var l line
		if json.Unmarshal(text, &l) == nil {
			lines <- l
		} else {
			w.Note(text) // the lock printed it
		}
		return nil
	}, End: func(error) { close(lines) }})
	if err := w.Start(); err != nil {
		return nil, nil, fmt.Errorf("explore: start a worker: %w", err)
	}
	_ = w.Send(j) // if it has ended, its output shows it
	return w, lines, nil
}

// rerun repeats the schedule that killed a worker, with every choice echoed, to get its tape.
func (e *exploration) rerun(ctx context.Context, j searchJob, d death) finding {
	j.First, j.Prefix, j.Echo, j.Schedules = d.schedule, d.prefix, true, 1
	// its other results are known
	second, err := e.runWorker(context.WithoutCancel(ctx), j, func(line) {})
	b := broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown,
		Story: []string{"the lock under test took its process down", firstLines(d.why, 12)}}
	t := sim.Outcome{Program: j.Program}.Tape(j.Bounds)
	t.Property, t.Cause, t.Steps, t.Hash = b.Property, b.Cause, b.Story, "" // there is no trace
	if err == nil && second != nil {
		t.Choices = second.choices
		c := j.draw(d.schedule, 0)
		t.Program, t.Bounds = c.program, c.bounds
		return finding{d.schedule, b, t}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warnings = append(e.warnings, fmt.Sprintf("schedule %d killed its worker once and not again", d.schedule))
	return finding{d.schedule, b, t}
}
