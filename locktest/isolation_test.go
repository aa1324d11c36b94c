package locktest

import (
	"context"
	"strings"
	"testing"
	"time"
)

// supervised runs rules in worker processes, as Run does, and returns their results.
func supervised(t *testing.T, newLock factory, w world, options ...Option) *supervisor {
	t.Helper()
	cfg := configure(options)
	if j := workerJob(t); j != nil {
		if j.Test == t.Name() {
			cfg.checkRules(t, newLock, *j, toParent)
		}
		return nil
	}
	s := &supervisor{cfg: cfg, t: t, newLock: newLock, results: map[string]result{}}
	s.supervise(w)
	return s
}

// loops is a lock whose TryLock never ends and never waits.
type loops struct{ *lock }

func (loops) TryLock(context.Context) (bool, error) {
	for n := 0; ; n++ {
		if n < 0 {
			return false, nil
		}
	}
}

// TestALockCannotEndTheTest: whatever a lock does to its process breaks one rule, with a stack, and the other rules are judged.
func TestALockCannotEndTheTest(t *testing.T) {
	good := "excludes"
	for _, row := range []struct {
		name   string
		make   factory
		broken string // a rule
		says   []string
	}{
		{"a goroutine of the lock panics", newTestLock(func(l *lock) { l.renew, l.panics = true, "watchdog" }), "lease-lasts",
			[]string{"the lock ended the process", "the lock is broken in watchdog", "locks_test.go"}},
		{"a Close does not return", newTestLock(func(l *lock) { l.stuck = true }), "nothing-running", []string{"a.Close did not return"}},
		{"a method panics", newTestLock(func(l *lock) { l.panics = "Unlock" }), "late-release", nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := supervised(t, row.make, virtual, Only(good, row.broken, "lease-ends", "waits"))
			if s == nil {
				return // a worker
			}
			if s.fatal != "" {
				t.Fatal(s.fatal)
			}
			res := s.results[row.broken]
			for _, want := range row.says {
				if !strings.Contains(strings.Join(res.Problems, "\n"), want) {
					t.Errorf("%s: %+v, want %q", row.broken, res, want)
				}
			}
			if _, ok := s.results[good]; !ok {
				t.Errorf("%s was not judged: %+v", good, s.results)
			}
		})
	}
}

// TestAGoroutineForAllIsOneBrokenRule: a goroutine that serves all locks of a process ends with the bubble of the first rule, which is no fault of the
// rules after it.
func TestAGoroutineForAllIsOneBrokenRule(t *testing.T) {
	s := supervised(t, newForever(), virtual, Only("asked-again", "renews", "one-of-two", "slow-renewals", "nothing-running"))
	if s == nil {
		return // a worker
	}
	if s.fatal != "" {
		t.Fatal(s.fatal)
	}
	for name, res := range s.results {
		if broken := len(res.Problems) > 0; broken != (name == "nothing-running") || res.Skip != "" {
			t.Errorf("%s: %+v", name, res)
		}
	}
}

// TestABusyLoopIsABrokenRule: a process can't stop a busy loop from inside.
func TestABusyLoopIsABrokenRule(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the time after which a rule is given up")
	}
	s := supervised(t, func(c Config) (any, error) {
		return loops{&lock{Config: c, name: func(s string) string { return s }}}, nil
	}, virtual, Only("excludes"))
	if s == nil {
		return
	}
	text := s.fatal
	for _, r := range s.results {
		text += strings.Join(r.Problems, "\n")
	}
	if !strings.Contains(text, "isolation_test.go") {
		t.Errorf("%q %+v, want the stack of the loop", s.fatal, s.results)
	}
}

// TestAMutexAcrossRepliesIsNoFault: virtual time stands still while a goroutine waits for a mutex whose holder waits for a reply, so such a lock is
// judged in real time.
func TestAMutexAcrossRepliesIsNoFault(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the time after which a rule is given up")
	}
	rules := []string{"excludes", "renews-own", "slow-renewals", "late-release"}
	s := supervised(t, newTestLock(func(l *lock) { l.renew, l.mutexed = true, true }), virtual, Only(rules...))
	if s == nil {
		return // a worker
	}
	if s.fatal != "" {
		t.Fatal(s.fatal)
	}
	for _, r := range rules {
		if res := s.results[r]; len(res.Problems) > 0 || res.Rule == "" {
			t.Errorf("%s: %+v", r, res)
		}
	}
}

// TestRealTimeControls: a lock that counts in seconds and one that takes only an address are judged in real time.
func TestRealTimeControls(t *testing.T) {
	if testing.Short() {
		t.Skip("takes leases of a second")
	}
	rules := Only("excludes", "late-release", "lease-lasts", "lease-ends", "lost-grant", "lost-release", "died-on-the-way", "odd-leases", "cancelled-request", "bounded-requests")
	for name, newLock := range map[string]factory{
		"counts in whole seconds":        newTestLock(func(l *lock) { l.seconds = true }),
		"takes an address":               func(c Config) (any, error) { return &wireLock{Config: c, addressOnly: true}, nil },
		"polls four times in a lease":    newWaiting(func(*lock) {}, func(w *waitingLock) { w.every = w.l.TTL / 4 }),
		"is a hash, and renews silently": newTestLock(func(l *lock) { l.name, l.renew = sha, true }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passes(t, checked(t, newLock, wall, RealLease(time.Second), rules))
		})
	}
}
