package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/history"
)

// death is how a worker died of the lock under test.
type death struct {
	schedule int
	prefix   []int
	why      string
	silent   bool     // it lived and said nothing
	choices  []Choice // of the schedule, when they were echoed
	where    string   // what its goroutines did when they were last looked at
}

// A worker that says nothing for longSilence is taken to be in an endless loop, if it does so again: a schedule takes milliseconds.
const (
	longSilence = 5 * time.Second // unless the search sets its own
	secondTime  = 3               // times as long may the second run be silent, on a machine that had no time for the first
	lastWords   = 64 << 10        // bytes of a worker's stderr that are kept
	graceToStop = 5 * time.Second
)

// attend runs a worker on a job and listens to it. died is not nil when the lock under test killed it.
func (e *exploration) attend(ctx context.Context, j job) (died *death, err error) {
	w, err := e.start(j)
	if err != nil {
		return nil, err
	}
	defer w.stop()
	limit := cmp.Or(e.cfg.Silence, longSilence)
	quietFor := time.NewTimer(limit)
	defer quietFor.Stop()
	now := death{schedule: j.First}
	for {
		select {
		case <-ctx.Done():
			return nil, w.finish(e, e.worker(j.Part))
		case <-quietFor.C:
			now.silent = true
			now.why = "the worker has not answered for " + limit.String() + ": an endless loop that time does not end\n" + now.where
			return &now, nil
		case l, ok := <-w.lines:
			if !ok {
				now.why = w.words()
				return &now, nil
			}
			if l.Where != "" {
				now.where = l.Where
				continue // that it lasts is no news
			}
			quietFor.Reset(limit)
			done, err := e.listen(l, e.worker(j.Part), &now)
			if done || err != nil {
				return nil, err
			}
		}
	}
}

// listen takes one line of a worker.
func (e *exploration) listen(l line, part int, now *death) (done bool, err error) {
	switch {
	case l.Begin != nil:
		now.schedule, now.prefix, now.choices, now.where = *l.Begin, l.Prefix, nil, ""
		e.begun(part, now.schedule)
	case l.Choice != nil:
		now.choices = append(now.choices, *l.Choice)
	case l.Finding != nil:
		e.found(*l.Finding)
	case l.Progress != nil:
		e.heard(part, *l.Progress)
	case l.Error != "":
		return true, errors.New(l.Error)
	}
	return l.Done, nil
}

// process is a worker as its owner sees it.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan line
	stderr *tail
	done   chan struct{} // closed when nothing more comes
	waited sync.Once
}

func (e *exploration) start(j job) (*process, error) {
	command := e.cfg.Command
	if len(command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("explore: find this program: %w", err)
		}
		command = []string{self}
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(append(os.Environ(), e.cfg.Env...), workerEnv+"=1")
	w := &process{cmd: cmd, lines: make(chan line, 256), stderr: &tail{}, done: make(chan struct{})}
	cmd.Stderr = w.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("explore: start a worker: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("explore: start a worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("explore: start a worker: %w", err)
	}
	w.stdin = stdin
	go w.read(stdout) // ends with the process, whose end stop waits for
	return w, json.NewEncoder(stdin).Encode(j)
}

// read turns a worker's output into lines. What is not a line of the protocol was printed by the lock and is kept as words.
func (w *process) read(stdout io.Reader) {
	defer close(w.done)
	defer close(w.lines)
	s := bufio.NewScanner(stdout)
	s.Buffer(make([]byte, 64<<10), 16<<20)
	for s.Scan() {
		if l, ok := begun(s.Bytes()); ok {
			w.lines <- l
			continue
		}
		var l line
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			_, _ = w.stderr.Write(append(s.Bytes(), '\n')) // a tail takes everything
			continue
		}
		w.lines <- l
	}
}

// begun reads the one line of which thousands come every second.
func begun(b []byte) (line, bool) {
	digits, ok := bytes.CutPrefix(b, []byte(`{"begin":`))
	if !ok {
		return line{}, false
	}
	digits, ok = bytes.CutSuffix(digits, []byte("}"))
	n := 0
	for _, d := range digits {
		if d < '0' || d > '9' {
			return line{}, false
		}
		n = n*10 + int(d-'0')
	}
	return line{Begin: &n}, ok
}

// finish lets a worker end by itself and takes what it still has to say.
func (w *process) finish(e *exploration, part int) error {
	_ = w.stdin.Close() // a worker that has ended has closed it
	grace := time.NewTimer(graceToStop)
	defer grace.Stop()
	var now death
	for {
		select {
		case <-grace.C:
			return nil
		case l, ok := <-w.lines:
			if !ok {
				return nil
			}
			if done, err := e.listen(l, part, &now); done || err != nil {
				return err
			}
		}
	}
}

// stop ends the process if it has not ended and waits for it.
func (w *process) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Process.Kill() // it may have ended
	for range w.lines {      // let read come to its end
	}
	<-w.done
	w.wait()
}

// wait waits for the process, and so for all that it wrote to stderr. How it ended is told by its last words.
func (w *process) wait() { w.waited.Do(func() { _ = w.cmd.Wait() }) }

// words are the last words of a worker that died.
func (w *process) words() string {
	<-w.done
	w.wait()
	text := strings.TrimSpace(w.stderr.String())
	if text == "" {
		text = "the worker ended without a word"
	}
	return text
}

// autopsy runs the schedule that killed a worker once more, with every choice echoed, to get its tape; again when it killed that one, too.
func (e *exploration) autopsy(ctx context.Context, j job, d death) (f finding, again bool) {
	j.First, j.Prefix, j.Echo, j.Schedules = d.schedule, d.prefix, true, 1
	scratch := &exploration{cfg: e.cfg, job: j, shard: e.shard, cancel: func() {}, tell: func(Stats) {}, parts: make([]progress, e.workers),
		at: make([]int, e.workers)}
	scratch.cfg.Silence = secondTime * cmp.Or(e.cfg.Silence, longSilence)
	second, err := scratch.attend(context.WithoutCancel(ctx), j)
	b := broken{Property: history.Progress, Cause: history.CauseUnknown,
		Story: []string{"the lock under test took its process down", firstLines(d.why, 12)}}
	t := Tape{Schema: TapeSchema, Program: j.Program, Bounds: j.Bounds, Property: b.Property, Cause: b.Cause, Steps: b.Story}
	again = err == nil && second != nil
	if again {
		t.Choices = second.choices
		c := j.settle(d.schedule, 0)
		t.Program, t.Bounds = c.program, c.bounds
	} else {
		e.warn(d)
	}
	return finding{d.schedule, b, t}, again
}

// warn notes a death that did not come again.
func (e *exploration) warn(d death) {
	what := "killed its worker once and not again"
	if d.silent {
		what = "took long once and not again: the machine is busy"
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.warnings = append(e.warnings, fmt.Sprintf("schedule %d %s", d.schedule, what))
}

func firstLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[:min(n, len(lines))], "\n")
}

// tail keeps the first bytes written to it: a Go program that dies says why at once and then lists its goroutines.
type tail struct {
	mu sync.Mutex // protects b: stderr and what the lock printed to stdout come from two goroutines
	b  []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[:min(len(p), max(0, lastWords-len(t.b)))]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
