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
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/verdicts"
)

// workerEnv marks a worker process: the same binary, started again.
const workerEnv = "LOCKBENCH_SIM_WORKER"

// IsWorker reports whether this process was started as a worker. main and every TestMain whose binary explores must ask it
// before anything else, and call [WorkerMain].
func IsWorker() bool { return os.Getenv(workerEnv) != "" }

// line is one line that a worker writes. A schedule is announced before it runs, so that one that kills the process is known.
type line struct {
	Begin    *int      `json:"begin,omitempty"`
	Prefix   []int     `json:"prefix,omitempty"`
	Choice   *Choice   `json:"choice,omitempty"`
	Where    string    `json:"where,omitempty"` // of a schedule that takes long: what its goroutines do
	Finding  *finding  `json:"finding,omitempty"`
	Progress *progress `json:"progress,omitempty"`
	Done     bool      `json:"done,omitempty"`
	Error    string    `json:"error,omitempty"`
}

// WorkerMain is a worker of variants that the catalogue knows: it reads one job from in, searches, and writes what it finds to out, one JSON line each. It ends when
// the job is done or in ends. The result is the exit code of the process.
func WorkerMain(in io.Reader, out io.Writer, known Catalogue) int {
	upstream.SilenceRedisLog()
	dedicateProcess()
	r := bufio.NewReader(in)
	text, err := r.ReadBytes('\n')
	if err != nil {
		return 1
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the process: reading stdin cannot be interrupted
		_, _ = io.Copy(io.Discard, r)
		cancel()
	}()
	if err := work(ctx, text, out, known); err != nil {
		_ = json.NewEncoder(out).Encode(line{Error: err.Error()}) // nobody is left to tell
		return 1
	}
	return 0
}

// dedicateProcess sets up a process that does nothing but run schedules. It gives what to call to set it back.
func dedicateProcess() (back func()) {
	processors := runtime.GOMAXPROCS(1) // one schedule at a time: a second thread would only wake up late
	percent := debug.SetGCPercent(gcPercent)
	return func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	}
}

// gcPercent lets garbage grow to 16 times what lives, which is a few megabytes of nodes: a collection costs what lives, and a
// schedule leaves nothing but garbage.
const gcPercent = 1600

// work does a job.
func work(ctx context.Context, text []byte, out io.Writer, known Catalogue) error {
	var j searchJob
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("job: %w", err)
	}
	h := newHost(known)
	defer h.close()
	s, err := newSearch(j, h)
	if err != nil {
		return err
	}
	out = &serial{to: out}
	say := func(l line) error { return json.NewEncoder(out).Encode(l) }
	if j.Echo {
		h.echo = func(c Choice) { _ = say(line{Choice: &c}) }
	}
	h.reportSlow = func(where string) { _ = say(line{Where: where}) }
	h.again = func() { _ = say(line{Progress: &s.progress}) }
	s.begin = announcer(out)
	s.found = func(f finding) { _ = say(line{Finding: &f}) }
	last := time.Now()
	s.every = func(p progress) {
		if now := time.Now(); now.Sub(last) >= reportEvery {
			last = now
			_ = say(line{Progress: &p})
		}
	}
	if err := s.run(ctx); err != nil {
		return err
	}
	return say(line{Progress: &s.progress, Done: true})
}

// serial lets one write at a time: what a schedule chooses and where it is are told by two goroutines.
type serial struct {
	mu sync.Mutex // protects to
	to io.Writer
}

// Write writes all of p, or none of it.
func (s *serial) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// reportEvery is how often a worker tells how far it has come.
const reportEvery = 100 * time.Millisecond

// announcer says which schedule is about to run. It is called thousands of times a second and so writes its line by hand.
func announcer(out io.Writer) func(int, []int) {
	var buf []byte
	return func(n int, prefix []int) {
		buf = fmt.Appendf(buf[:0], `{"begin":%d`, n)
		if len(prefix) > 0 {
			buf = append(buf, `,"prefix":[`...)
			for i, p := range prefix {
				if i > 0 {
					buf = append(buf, ',')
				}
				buf = fmt.Appendf(buf, "%d", p)
			}
			buf = append(buf, ']')
		}
		_, _ = out.Write(append(buf, "}\n"...)) // when nobody listens, stdin has ended, too
	}
}

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
	maxStderr   = 64 << 10        // bytes of a worker's stderr that are kept
	graceToStop = 5 * time.Second
)

// runWorker runs a worker on a job and listens to it. died is not nil when the lock under test killed it.
func (e *exploration) runWorker(ctx context.Context, j searchJob) (died *death, err error) {
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
				now.why = w.lastWords()
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

// workerProcess is a worker as its owner sees it.
type workerProcess struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	lines  chan line
	stderr *stderrHead
	done   chan struct{} // closed when nothing more comes
	waited sync.Once
}

func (e *exploration) start(j searchJob) (*workerProcess, error) {
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
	w := &workerProcess{cmd: cmd, lines: make(chan line, 256), stderr: &stderrHead{}, done: make(chan struct{})}
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
func (w *workerProcess) read(stdout io.Reader) {
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
func (w *workerProcess) finish(e *exploration, part int) error {
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
func (w *workerProcess) stop() {
	_ = w.stdin.Close()
	_ = w.cmd.Process.Kill() // it may have ended
	for range w.lines {      // let read come to its end
	}
	<-w.done
	w.wait()
}

// wait waits for the process, and so for all that it wrote to stderr. How it ended is told by its last words.
func (w *workerProcess) wait() { w.waited.Do(func() { _ = w.cmd.Wait() }) }

// lastWords are the last words of a worker that died.
func (w *workerProcess) lastWords() string {
	<-w.done
	w.wait()
	text := strings.TrimSpace(w.stderr.String())
	if text == "" {
		text = "the worker ended without a word"
	}
	return text
}

// rerun runs the schedule that killed a worker once more, with every choice echoed, to get its tape; again when it killed that one, too.
func (e *exploration) rerun(ctx context.Context, j searchJob, d death) (f finding, again bool) {
	j.First, j.Prefix, j.Echo, j.Schedules = d.schedule, d.prefix, true, 1
	scratch := &exploration{cfg: e.cfg, job: j, shard: e.shard, cancel: func() {}, tell: func(Stats) {}, parts: make([]progress, e.workers),
		at: make([]int, e.workers)}
	scratch.cfg.Silence = secondTime * cmp.Or(e.cfg.Silence, longSilence)
	second, err := scratch.runWorker(context.WithoutCancel(ctx), j)
	b := broken{Property: verdicts.Progress, Cause: verdicts.CauseUnknown,
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

// stderrHead keeps the first bytes written to it: a Go program that dies says why at once and then lists its goroutines.
type stderrHead struct {
	mu sync.Mutex // protects b: stderr and what the lock printed to stdout come from two goroutines
	b  []byte
}

// Write never fails.
func (t *stderrHead) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p[:min(len(p), max(0, maxStderr-len(t.b)))]...)
	return len(p), nil
}

func (t *stderrHead) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
