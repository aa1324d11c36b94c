package locktest

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
)

// rule is one requirement on a lock, stated in a sentence.
type rule struct {
	name     string
	sentence string
	needs    need // says why the rule does not apply to a lock; nil: it applies to all
	check    func(c *trial)
}

// Run checks the rules that apply to the lock, one subtest for each. newLock returns one client's
// handle: a value with Unlock, and Lock or TryLock or both. It may be called several times for one
// client.
//
// The rules run in a separate process, this test binary started again with the same test only, so
// that a lock which panics, spins or never returns fails one rule and not the test. Code of the
// test before Run therefore runs once more in each such process. Under a debugger, or to measure
// coverage, set LOCKBENCH_LOCKTEST=in-process: then a lock that panics in its own goroutine, or
// never stops, ends the test.
func Run(t *testing.T, newLock func(Config) (any, error), options ...Option) {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	j := workerJob(t)
	in := func(w world) {
		t.Run(string(w), func(t *testing.T) {
			if j == nil {
				cfg.judgeAll(t, newLock, w)
			} else if j.Test == t.Name() {
				// A worker whose parent has ended, and with it the worker's input, ends its process: a
				// rule that hangs can't be ended otherwise, and nobody is left to do it.
				go func() {
					_, _ = io.Copy(io.Discard, os.Stdin)
					os.Exit(1)
				}()
				cfg.checkRules(t, newLock, *j, toParent)
			}
		})
	}
	if cfg.replicas == 0 && !cfg.noVirtual { // the embedded server has no replicas
		in(virtual)
	}
	if cfg.onRedis {
		in(redisServer)
	}
}

// looksAlone is how often a rule is repeated whose result in real time was not the expected one: a
// busy machine can miss an instant, but a broken lock fails each time.
const looksAlone = 3

func (cfg config) judgeAll(t *testing.T, newLock factory, w world) {
	s := &supervisor{cfg: cfg, t: t, newLock: newLock, results: map[string]result{}}
	if w == redisServer {
		s.servers = startServers(t, cfg)
	}
	s.supervise(w)
	switch {
	case s.fatal != "":
		t.Fatal(s.fatal)
	case s.skip != "":
		t.Skip(s.skip)
	}
	for _, line := range s.remarks {
		t.Log(line)
	}
	for _, r := range cfg.rules() {
		t.Run(r.name, func(t *testing.T) {
			res := s.result(r.name)
			for n := 0; n < looksAlone && res.realTime && res.Hangs == "" && res.Stack == "" && !cfg.expected(r, res) && res.Skip == ""; n++ {
				res = s.again(r.name)
			}
			cfg.judge(t, r, res)
		})
	}
	tellNever(t, s.neverReached())
}

// neverReached lists the rules that had nothing to check, with the reason, and the faults that
// struck under no rule.
func (s *supervisor) neverReached() (never []string) {
	reached, why := history.Reach{}, map[string][]string{}
	for _, r := range s.cfg.rules() {
		res := s.result(r.name)
		if reason := cmp.Or(res.Skip, res.Unjudged); reason != "" {
			why[reason] = append(why[reason], r.name)
		} else {
			reached.Add(res.Reached)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		never = append(never, fmt.Sprintf("%s (%s)", strings.Join(why[reason], ", "), reason))
	}
	return append(reached.Never(), never...)
}

// tellNever says what a test never reached; go test -json has it as an attribute.
func tellNever(t *testing.T, never []string) {
	t.Helper()
	if len(never) == 0 {
		return
	}
	t.Logf("never reached, so nothing is shown about it:\n\t%s", strings.Join(never, "\n\t"))
	t.Attr("never_reached", strings.Join(strings.Fields(strings.Join(never, "; ")), " ")) // on one line
}

// expected reports whether a rule had the result that the options announced.
func (cfg config) expected(r rule, res result) bool {
	breaks := slices.Contains(cfg.breaks, r.name)
	if len(res.Problems) > 0 {
		return breaks || slices.Contains(cfg.may, r.name)
	}
	return !breaks
}

// judge compares the problems that a rule found with what is expected.
func (cfg config) judge(t *testing.T, r rule, res result) {
	t.Helper()
	for _, n := range res.Notes {
		t.Log(n)
	}
	text := strings.Join(res.Problems, "\n\t")
	switch expected := cfg.expected(r, res); {
	case res.Skip != "":
		t.Skipf("does not apply: %s", res.Skip)
	case len(res.Problems) > 0 && expected:
		t.Logf("broken, as expected: %s\n\trule: %s", text, r.sentence)
	case len(res.Problems) > 0:
		if len(res.Log) > 0 {
			text += "\n\tthe last requests:\n\t\t" + strings.Join(res.Log, "\n\t\t")
		}
		t.Errorf("%s\n\trule: %s", text, r.sentence)
	case !expected && res.Unjudged != "":
		t.Errorf("expected to be broken, and not judged: %s", res.Unjudged)
	case !expected:
		t.Errorf("expected to be broken, and was kept: %s", r.sentence)
	case res.Unjudged != "":
		t.Skipf("not judged: %s", res.Unjudged)
	}
}

// known fails on names that are no rules and on invalid options: an expectation with a misspelt
// name would have no effect.
func (cfg config) known(t *testing.T) {
	t.Helper()
	names := namesOf(rules())
	for _, n := range slices.Concat(cfg.breaks, cfg.may, cfg.only) {
		if !slices.Contains(names, n) {
			t.Fatalf("there is no rule %q%s", n, foreign.Hint(n, names))
		}
	}
	if len(cfg.wrong) > 0 {
		t.Fatal(strings.Join(cfg.wrong, "\n"))
	}
}

// rules returns the rules that the options have chosen.
func (cfg config) rules() []rule {
	return slices.DeleteFunc(rules(), func(r rule) bool { return len(cfg.only) > 0 && !slices.Contains(cfg.only, r.name) })
}

func namesOf(rules []rule) (names []string) {
	for _, r := range rules {
		names = append(names, r.name)
	}
	return names
}
