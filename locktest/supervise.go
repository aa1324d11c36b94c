package locktest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/internal/subprocess"
	"github.com/lockbench/lockbench/internal/upstream"
)

// supervisor has rules checked in worker processes and collects the results.
type supervisor struct {
	cfg     config
	t       *testing.T
	newLock factory
	servers [][]string
	here    bool // no processes are started

	mu      sync.Mutex // two workers report concurrently
	results map[string]result
	fatal   string
	remarks []string
	real    string // why virtual time can't be used
	skip    string // why the embedded server can't
	hung    []string
	seen    *seen
}

// workers is how many processes check rules in virtual time at once.
const workers = 2

// hangsEnough is how many rules may hang in virtual time before the rest runs in real time at once.
const hangsEnough = 2

// supervise has all rules checked in a world; those that virtual time can't judge are checked in
// real time.
func (s *supervisor) supervise(w world) {
	names := namesOf(s.cfg.rules())
	if w != virtual || s.inProcess() {
		s.drive(w, names)
		return
	}
	var all sync.WaitGroup
	for i := range workers {
		var part []string
		for j := i; j < len(names); j += workers {
			part = append(part, names[j])
		}
		all.Go(func() { s.drive(virtual, part) })
	}
	all.Wait()
	s.fallBack(names)
}

// fallBack checks the rules in real time that hung in virtual time or were not checked there. A
// lock that computes without end does so there, too.
func (s *supervisor) fallBack(names []string) {
	var rest []string
	stacks := map[string]string{}
	for _, n := range names {
		if res, ok := s.results[n]; !ok || res.Stack != "" && !res.Spins {
			rest = append(rest, n)
			stacks[n] = res.Stack
			delete(s.results, n)
		}
	}
	switch {
	case s.fatal != "" || s.skip != "" || len(rest) == 0:
		return
	case s.real != "":
		s.remarks = append(s.remarks, fmt.Sprintf("%d rules are checked in real time, on the embedded server: %s", len(rest), s.real))
	default:
		why := "" // the time of a bubble did not advance
		if len(s.hung) > 0 {
			why = "it waits for something outside the bubble, or never stops:\n" + stacks[s.hung[0]]
		}
		for _, n := range slices.Backward(s.hung) {
			if strings.Contains(stacks[n], "sync.(*Mutex).Lock") || strings.Contains(stacks[n], "sync.(*RWMutex)") {
				why = upstream.MutexOf("the lock", stacks[n]) + " keeps a mutex while it waits for time or the network, and virtual time stands still:\n" + stacks[n]
			}
		}
		s.remarks = append(s.remarks, fmt.Sprintf("%q did not end in virtual time and are checked in real time, on the embedded server: %s", s.hung, why))
	}
	s.seen = nil // what virtual time showed may be little
	s.drive(wall, rest)
}

// drive has workers check rules until every rule has a result. A worker that ended is replaced.
func (s *supervisor) drive(w world, names []string) {
	for idle := 0; len(names) > 0 && s.going(w); { // rounds without a result
		known, before := s.saw(), len(names)
		begun, err := s.worker(w, names)
		names = s.without(names)
		suspects := s.without(begun)
		if known == nil && s.saw() != nil && len(names) == before {
			continue // no rule was reached, but now it is known what the lock can do
		}
		if idle++; len(names) < before {
			idle = 0
		}
		switch {
		case len(names) == 0:
		case idle > 2, err == nil && len(begun) == 0:
			s.stop("the worker ended before the rules: does the test reach locktest.Run when it is started again alone?")
		case err == nil:
		case len(suspects) == 0:
			s.stop(err.Error())
		case len(suspects) > 1:
			for _, n := range suspects {
				s.drive(w, []string{n})
			}
		case !upstream.Crossed(err.Error()):
			s.take(w, message{Result: &result{Rule: suspects[0], Problems: []string{"the lock ended the process: " + err.Error()}}})
		case len(begun) == 1: // it was alone in its process
			s.take(w, message{Result: &result{Rule: suspects[0], Stack: err.Error()}})
		}
		names = s.without(names)
	}
}

// without returns the rules that have no result yet.
func (s *supervisor) without(names []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		_, ok := s.results[n]
		return ok || n == detection
	})
}

// saw returns what is known of the lock.
func (s *supervisor) saw() *seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// going reports whether another worker is of use.
func (s *supervisor) going(w world) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fatal == "" && s.skip == "" && (w != virtual || s.real == "" && len(s.hung) < hangsEnough)
}

func (s *supervisor) stop(why string) { s.take(wall, message{Fatal: why}) }

// result returns a rule's result, once all are checked.
func (s *supervisor) result(name string) result {
	if r, ok := s.results[name]; ok {
		return r
	}
	return result{Rule: name, Problems: []string{"the rule was not checked"}}
}

// again repeats one rule alone, in real time.
func (s *supervisor) again(name string) result {
	w := wall
	if s.servers != nil {
		w = redisServer
	}
	delete(s.results, name)
	s.drive(w, []string{name})
	return s.result(name)
}

// inProcess reports whether the rules are to be checked in this process.
func (s *supervisor) inProcess() bool {
	return s.here || os.Getenv("LOCKBENCH_LOCKTEST") == "in-process"
}

// silence is how long a worker may print nothing.
const silence = 90 * time.Second

// worker starts one process and reads its messages. It returns the rules that were begun, and an
// error if the process ended by itself.
func (s *supervisor) worker(w world, names []string) (begun []string, err error) {
	j := job{Test: s.t.Name(), World: w, Rules: names, Patient: 1, Servers: s.servers, Seen: s.saw()}
	take := func(m message) bool {
		if m.Begin != "" {
			begun = append(begun, m.Begin)
		}
		return s.take(w, m)
	}
	if s.inProcess() {
		j.Patient = 1000
		s.cfg.checkRules(s.t, s.newLock, j, func(m message) { take(m) })
		return begun, nil
	}
	text, err := json.Marshal(j)
	if err == nil {
		err = startWorker(s.t, string(text), take)
	}
	return begun, err
}

// take processes a message of a worker, and reports whether that worker is of no more use.
func (s *supervisor) take(w world, m message) (stop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.Result != nil:
		r := *m.Result
		r.realTime = w != virtual
		if r.Stack != "" {
			s.hung = append(s.hung, r.Rule)
			r.Problems = append(r.Problems, "the rule did not end; the lock's goroutines:\n"+r.Stack)
		}
		if r.Rule == detection && r.Spins {
			s.fatal = r.Problems[0]
		}
		s.results[r.Rule] = r
		return r.Stack != "" && w == virtual // in real time the other rules continue
	// a worker sees the lock's methods before it sees that the lock renews
	case m.Seen != nil && (s.seen == nil || m.Seen.Traits.SelfRenewing):
		s.seen = m.Seen
	case m.Fatal != "":
		s.fatal = cmp.Or(s.fatal, m.Fatal)
	case m.Real != "":
		s.real = m.Real
	case m.Skip != "":
		s.skip = m.Skip
	}
	return m.End || m.Fatal != "" || m.Real != "" || m.Skip != ""
}

// startWorker runs this test binary again with only the job's test, and passes each message to take
// until that returns true. If the process ended before, the error has the last lines that it
// printed.
func startWorker(t *testing.T, jobText string, take func(message) bool) (err error) {
	t.Helper()
	command := sameTest(t.Name())
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), jobEnv+"="+jobText)
	var p *subprocess.Process
	var watch *time.Timer
	p = subprocess.New(cmd, subprocess.Listener{Line: func(_ int, line []byte) error {
		_, text, ok := bytes.Cut(line, []byte(mark))
		var m message
		switch {
		case !ok && len(line) > 0:
			p.Note(line)
		case ok && json.Unmarshal(text, &m) == nil:
			if watch.Reset(silence); take(m) {
				return errEnough
			}
		}
		return nil
	}, End: func(ended error) { err = ended }})
	watch = time.AfterFunc(silence, func() { _ = p.Kill() })
	defer watch.Stop()
	if err := p.Start(); err != nil {
		return fmt.Errorf("start %s again: %w", os.Args[0], err)
	}
	<-p.Ended() // and its output was read
	p.CloseInput()
	if errors.Is(err, errEnough) {
		return nil
	}
	words := p.LastWords() // of a panic, to the end of the stack of the goroutine that panicked
	if head, stacks, ok := strings.Cut(words, "\n\ngoroutine "); ok && strings.HasPrefix(words, "panic: ") {
		first, _, _ := strings.Cut(stacks, "\n\n")
		words = head + "\n\ngoroutine " + first
	}
	return fmt.Errorf("%w\n%s", cmp.Or(err, p.Err(), errors.New("it ended early")), words)
}

// errEnough ends a worker that is of no more use.
var errEnough = errors.New("enough")

// sameTest returns the command that runs this test binary again with one subtest only. Flags that
// the test defines are needed there, too.
func sameTest(name string) []string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	command := []string{os.Args[0], "-test.run=" + strings.Join(parts, "/"), "-test.timeout=0", "-test.count=1"}
	for _, a := range os.Args[1:] {
		if !strings.HasPrefix(strings.TrimLeft(a, "-"), "test.") {
			command = append(command, a)
		}
	}
	return command
}
