package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
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
	quiet()
	devote()
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

// devote sets up a process that does nothing but run schedules. It gives what to call to set it back.
func devote() (back func()) {
	processors := runtime.GOMAXPROCS(1) // one schedule at a time: a second thread would only wake up late
	percent := debug.SetGCPercent(collectLate)
	return func() {
		runtime.GOMAXPROCS(processors)
		debug.SetGCPercent(percent)
	}
}

// collectLate lets garbage grow to 16 times what lives, which is a few megabytes of nodes: a collection costs what lives, and a
// schedule leaves nothing but garbage.
const collectLate = 1600

// work does a job.
func work(ctx context.Context, text []byte, out io.Writer, known Catalogue) error {
	var j job
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
	h.slow = func(where string) { _ = say(line{Where: where}) }
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
