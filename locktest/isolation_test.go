package locktest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"
)

// loops is a lock whose TryLock never ends and never waits.
type loops struct{ *lock }

func (loops) TryLock(context.Context) (bool, error) {
	for n := 0; ; n++ {
		if n < 0 {
			return false, nil
		}
	}
}

// TestProcesses: whatever a lock does to its process breaks one rule at the most, with a stack, and
// the other rules are judged.
func TestProcesses(t *testing.T) {
	for _, row := range []struct {
		name   string
		make   factory
		rules  string            // kept, if they are not broken
		broken map[string]string // what the problem of a rule says; rule "" is the lock as a whole
		real   bool              // virtual time does not suffice
	}{
		{"a goroutine of the lock panics", newTestLock(func(l *lock) { l.renew, l.panics = true, "watchdog" }), "excludes lease-ends waits",
			map[string]string{"lease-lasts": "the lock ended the process"}, false},
		{"a Close does not return", newTestLock(func(l *lock) { l.stuck = true }), "release-once waits",
			map[string]string{"nothing-running": "a.Close did not return", "excludes": "late.Close did not return"}, false},
		{"a method panics", newTestLock(func(l *lock) { l.panics = "Unlock" }), "lease-ends",
			map[string]string{"excludes": "the lock is broken in Unlock", "late-release": "the lock is broken in Unlock", "no-lost-update": "Unlock panicked: the lock is broken"}, false},
		{"a method panics while many clients ask", newTestLock(func(l *lock) { l.panics = "TryLock" }), "",
			map[string]string{"one-wins": "panicked: the lock is broken in TryLock", "no-lost-update": "panicked: the lock is broken in TryLock"}, false},
		// A process can't stop a busy loop from inside.
		{"a busy loop", around(func(l *lock) any { return loops{l} }), "", map[string]string{"": "isolation_test.go"}, false},
		// A goroutine that serves all locks of a process ends with the bubble of the first rule,
		// which is no fault of the rules after it.
		{"a goroutine for all locks", newForever(), "asked-again renews one-of-two slow-renewals",
			map[string]string{"nothing-running": "goroutines stay"}, false},
		// Virtual time stands still while a goroutine waits for a mutex whose holder waits for a
		// reply.
		{"a mutex across replies", newTestLock(func(l *lock) { l.renew, l.mutexed = true, true }), "excludes renews-own slow-renewals late-release", nil, true},
		// A lock may keep a channel for each name, which the next rule finds although it was made
		// in another bubble.
		{"a channel for all locks", newTurns(), "excludes late-release lease-ends released-at-once reuse", nil, false},
		// What a library keeps for its next user in the process is not used by the next rule.
		{"timers of the kit's client", newCrowd(false), "excludes late-release lease-ends waits released-at-once reuse", nil, false},
		{"timers of a client of the lock's own", newCrowd(true), "excludes late-release lease-ends waits released-at-once reuse", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			names := strings.Fields(row.rules)
			for rule := range row.broken {
				if rule != "" {
					names = append(names, rule)
				}
			}
			cfg := configure([]Option{Only(names...)})
			if j := workerJob(t); j != nil {
				if j.Test == t.Name() {
					cfg.checkRules(t, row.make, *j, toParent)
				}
				return
			}
			s := &supervisor{cfg: cfg, t: t, newLock: row.make, results: map[string]result{}}
			s.supervise(virtual)
			if says := row.broken[""]; (s.fatal == "") != (says == "") || !strings.Contains(s.fatal, says) {
				t.Fatalf("the lock can't be tested: %q, want %q", s.fatal, says)
			}
			for _, n := range names {
				res, says := s.results[n], row.broken[n]
				text := strings.Join(res.Problems, "\n")
				if res.Rule == "" || (text == "") != (says == "") || !strings.Contains(text, says) || res.Skip != "" && n != "waits" || res.realTime && !row.real {
					t.Errorf("%s: %+v, want %q", n, res, says)
				}
			}
		})
	}
}

// TestNobodyWaitsForAConnection: bubbles that run at the same time, as those of parallel tests in
// this process do, would share what a wait leaves.
func TestNobodyWaitsForAConnection(t *testing.T) {
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			passes(t, checked(t, newCrowd(false), virtual, Only("excludes", "released-at-once", "reuse")))
		})
	}
}

// knowsItsWire asks for the number of its connection, as a library may.
type knowsItsWire struct{ plain }

func (l *knowsItsWire) TryLock(ctx context.Context) (bool, error) {
	if _, err := l.Redis.ClientID(ctx).Result(); err != nil {
		return false, err
	}
	return l.plain.TryLock(ctx)
}

// TestUnknownCommandIsNoFault: a lock that needs more than the embedded server has is not judged.
func TestUnknownCommandIsNoFault(t *testing.T) {
	t.Parallel()
	for _, newLock := range []factory{
		func(c Config) (any, error) { return &knowsItsWire{plain{owned{Config: c}}}, nil },
		func(c Config) (any, error) { return nil, c.Redis.FunctionLoad(context.Background(), "#!lua").Err() },
	} {
		s := &supervisor{cfg: configure([]Option{Only("excludes")}), t: t, newLock: newLock, here: true, results: map[string]result{}}
		s.drive(virtual, namesOf(s.cfg.rules()))
		if s.fatal != "" || len(s.results) > 0 || !strings.Contains(s.skip, "ERR unknown") {
			t.Errorf("%q, %v, %q; want a skip that says what is lacking", s.fatal, s.results, s.skip)
		}
	}
}

// TestRealTimeControls: a lock that counts in seconds and one that takes only an address are judged
// in real time, all at once: they wait most of it.
func TestRealTimeControls(t *testing.T) {
	if testing.Short() {
		t.Skip("takes leases of a second")
	}
	t.Parallel()
	rules := Only("excludes", "late-release", "lease-lasts", "lease-ends", "lost-grant", "lost-release", "died-on-the-way", "odd-leases", "cancelled-request", "bounded-requests")
	var all sync.WaitGroup
	for name, newLock := range map[string]factory{
		"counts in whole seconds":        newTestLock(func(l *lock) { l.seconds = true }),
		"takes an address":               func(c Config) (any, error) { return &wireLock{Config: c, addressOnly: true}, nil },
		"polls four times in a lease":    newWaiting(func(*lock) {}, func(w *waitingLock) { w.every = w.l.TTL / 4 }),
		"is a hash, and renews silently": newTestLock(func(l *lock) { l.name, l.renew = sha, true }),
	} {
		all.Go(func() {
			for rule, res := range checked(t, newLock, wall, RealLease(time.Second), rules) {
				passes(t, map[string]result{name + ": " + rule: res})
			}
		})
	}
	all.Wait()
}

// TestAHangingCallCostsOneRule: rules that run after others in real time do not wait for it again.
func TestAHangingCallCostsOneRule(t *testing.T) {
	t.Parallel()
	cfg := configure([]Option{RealLease(100 * time.Millisecond), Only("loss-returns", "scripts-forgotten")})
	s := &supervisor{cfg: cfg, t: t, newLock: newTestLock(func(l *lock) { l.stubborn = true }), here: true, results: map[string]result{}}
	s.drive(wall, namesOf(cfg.rules()))
	if first, later := s.results["loss-returns"], s.results["scripts-forgotten"]; first.Hangs != "Unlock" || later.Unjudged != "not run: Unlock hangs (rule loss-returns)" {
		t.Errorf("%+v, and then %+v", first, later)
	}
}
