package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/faults/inject"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/verdicts"
)

// childVariable makes the test binary a child that serves a lock; see TestMain.
const childVariable = "LOCKBENCH_TEST_CHILD"

// serveChild runs a child with a lock that stores its holders under a second key.
func serveChild() error {
	return subject.Serve(func(c subject.Config) (any, error) { return &twoKeys{redis: c.Redis, key: c.Key, ttl: c.TTL}, nil })
}

type twoKeys struct {
	redis redis.UniversalClient
	key   string
	ttl   time.Duration
}

func (l *twoKeys) TryLock(ctx context.Context) (bool, error) {
	return l.redis.Eval(ctx, "redis.call('INCR', KEYS[2]) return redis.call('SET', KEYS[1], 1, 'NX', 'PX', ARGV[1]) and 1 or 0",
		[]string{l.key, l.key + ":tries"}, l.ttl.Milliseconds()).Bool()
}

func (l *twoKeys) Unlock(ctx context.Context) error { return l.redis.Del(ctx, l.key).Err() }

// On a user's Redis a run changes only keys under its own prefix, and deletes them all: the user's
// own data, including a key named like the lock's, stay as they were. The run's Redis user may not
// scan keys.
func TestSomebodysRedisIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	owner, url := guestOf(t, "guest:secret@")
	c := redis.NewClient(&redis.Options{Addr: owner.Addr(0)})
	defer c.Close()
	for _, key := range []string{"job", "{job}:queue", "store:job", "lockbench:other:job", "{lockbench:other:job}:fence"} {
		must(t, c.Set(t.Context(), key, "the owner's "+key, 0).Err())
	}
	guest := []any{"ACL", "SETUSER", "guest", "on", ">secret", "~*", "&*", "+@all", "-scan", "-keys", "-@dangerous", "+info"}
	must(t, c.Do(t.Context(), guest...).Err())
	before := contents(t, c)
	for _, scenario := range []string{"kill-server", "eviction"} {
		if _, err := Run(t.Context(), experiment(t, "fenced", scenario, url, Goroutines)); !errors.Is(err, servers.ErrRefused) {
			t.Errorf("%s on somebody's Redis: %v, want refused", scenario, err)
		}
	}
	t.Run("runs", func(t *testing.T) {
		for _, row := range []struct {
			why, lock, scenario string
			as                  ClientsAs
		}{
			{"a second key, with a derived name", "fenced", "steady", Goroutines},
			{"several", "rw-lease", "steady", Goroutines},
			{"names that a script makes up, left by a writer that died", "rw-owner-fixed", "crash-holder", Goroutines},
			{"lists that a script names by their waiters' tokens", "handoff", "contended", Goroutines},
			{"waiters that die with a place in the queue", "handoff", "crash-waiter", Goroutines},
			{"its holder dies and leaves a key that never expires", "setnx", "crash-holder", Goroutines},
			{"a fault that deletes keys by their names", "fenced", "key-deleted", Goroutines},
			{"a hash", "redisson", "steady", Goroutines},
			{"names that a library derives", "rueidislock", "contended", Goroutines},
			{"clients that are processes", "fenced", "steady", Processes},
			{"one of which is killed", "setnx", "crash-holder", Processes},
		} {
			t.Run(fmt.Sprintf("%s %s %s", row.lock, row.scenario, row.as), func(t *testing.T) {
				t.Parallel()
				out, err := Run(t.Context(), experiment(t, row.lock, row.scenario, url, row.as))
				if err != nil {
					t.Fatal(row.why, err)
				}
				expectNoKeys(t, c, out)
				if row.scenario == "steady" && out.Result.Verdict == checker.Fail {
					t.Errorf("%s: verdict fail: the owner's key was in the way", row.why)
				}
			})
		}
		t.Run("a child with a key that is not the lock's", func(t *testing.T) {
			t.Parallel()
			e := experiment(t, "token", "steady", url, Goroutines)
			e.Subject = subject.Fleet{Exec: fmt.Sprintf("%s=1 %s", childVariable, os.Args[0])}
			var err error
			e.Variant, err = e.Subject.Probe(t.Context())
			must(t, err)
			out, err := Run(t.Context(), e)
			must(t, err)
			if out.Result.Operations["acquire"]["ok"] == 0 {
				t.Errorf("acquires %v, want grants", out.Result.Operations["acquire"])
			}
			expectNoKeys(t, c, out)
		})
		for _, lock := range []string{"handoff", "setnx"} {
			t.Run("stopped in the middle "+lock, func(t *testing.T) {
				t.Parallel()
				interruptedRun(t, c, experiment(t, lock, "contended", url, Goroutines), false)
			})
			t.Run("abandoned in the middle "+lock, func(t *testing.T) {
				t.Parallel()
				interruptedRun(t, c, experiment(t, lock, "contended", url, Goroutines), true)
			})
		}
	})
	if diff := cmp.Diff(before, contents(t, c)); diff != "" {
		t.Errorf("what its owner has has changed:\n%s", diff)
	}
}

// A child that is killed while it is stopped is not resumed, and that is no error.
func TestAStoppedChildMayBeKilled(t *testing.T) {
	e := experiment(t, "token", "steady", provider(t, "process"), Goroutines)
	e.Subject = subject.Fleet{Exec: fmt.Sprintf("%s=1 %s", childVariable, os.Args[0])}
	all, _, err := e.startChildren(t.Context())
	must(t, err)
	defer func() { _ = all.close() }()
	body := childBody{inject.NewGoroutine(), all[0].Child}
	resume, err := body.Pause(t.Context())
	must(t, err)
	if err := body.Crash(t.Context()); err != nil {
		t.Error(err)
	}
	time.Sleep(100 * time.Millisecond) // until it was waited for
	if err := resume(t.Context()); err != nil {
		t.Errorf("resume: %v", err)
	}
}

// Without a log of the server, which runs scripts that are sent by their digests alone, causes are
// found from requests and replies; also where a waiting client takes an item from a list.
func TestCausesOnAServerThatKnowsTheScripts(t *testing.T) {
	t.Parallel()
	used, url := guestOf(t, "")
	c := redis.NewClient(&redis.Options{Addr: used.Addr(0)})
	defer c.Close()
	for _, lock := range []string{"token", "fair", "handoff"} {
		t.Run(lock, func(t *testing.T) {
			e := experiment(t, lock, "pause-holder", url, Goroutines)
			for _, s := range e.Variant.Scripts {
				must(t, c.ScriptLoad(t.Context(), s.Source).Err())
			}
			out, err := Run(t.Context(), e)
			must(t, err)
			found := 0
			for _, p := range out.Result.Properties {
				for cause, n := range p.Causes {
					if found += n; cause != verdicts.LeaseOverrun {
						t.Errorf("%s: causes %v, want lease-overrun", p.Name, p.Causes)
					}
				}
			}
			if found == 0 {
				t.Error("nothing is broken")
			}
		})
	}
}

// expectNoKeys checks that no keys of a finished run are left.
func expectNoKeys(t *testing.T, c *redis.Client, out *Outcome) {
	t.Helper()
	if out == nil {
		t.Fatal("the run has no outcome")
	}
	if left := c.Keys(t.Context(), "*lockbench:"+out.Run.ID+"*").Val(); len(left) > 0 {
		t.Errorf("%d keys are left: %q", len(left), left)
	}
}

// interruptedRun ends a run while its clients compete, through Stop or its context.
func interruptedRun(t *testing.T, c *redis.Client, e Experiment, abandon bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop, stopped := make(chan struct{}), false
	e.Stop, e.Scenario.Ops, e.Scenario.Length = stop, 0, faults.Span{Fixed: time.Minute}
	e.Progress = func(p Progress) {
		if p.Rounds == 0 || stopped {
			return
		}
		if stopped = true; abandon {
			cancel()
		} else {
			close(stop)
		}
	}
	out, err := Run(ctx, e)
	if err != nil && !abandon {
		t.Error(err)
	}
	expectNoKeys(t, c, out)
	if !stopped {
		t.Error("the run ended by itself")
	}
}

// guestOf starts a server, and returns it with the provider that reaches it by its URL alone.
func guestOf(t *testing.T, credentials string) (owner servers.Deployment, url *servers.URL) {
	t.Helper()
	owner, err := provider(t, "process").Start(t.Context(), servers.Spec{Topology: impls.Standalone})
	must(t, err)
	t.Cleanup(func() { _ = owner.Close() })
	url, err = servers.NewURL(servers.Access{}, "redis://"+credentials+owner.Addr(0))
	must(t, err)
	return owner, url
}

// contents returns all data of a server: every key with its dump and its time to live.
func contents(t *testing.T, c *redis.Client) map[string]string {
	t.Helper()
	keys, err := c.Keys(t.Context(), "*").Result()
	must(t, err)
	all := map[string]string{}
	for _, key := range keys {
		dump, err := c.Dump(t.Context(), key).Result()
		must(t, err)
		all[key] = dump + c.PTTL(t.Context(), key).Val().String()
	}
	return all
}

// A server that dies or hangs during a run is no evidence about the lock: the run ends with the
// reason and keeps its record.
func TestAServerThatIsLost(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(servers.Deployment, context.Context) error{
		"it dies":  func(d servers.Deployment, ctx context.Context) error { return d.Kill(ctx, 0) },
		"it hangs": func(d servers.Deployment, ctx context.Context) error { return d.Pause(ctx, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner, url := guestOf(t, "")
			e := experiment(t, "token", "steady", url, Goroutines)
			e.Scenario.Ops, e.Scenario.Length.Fixed, e.Scenario.Wait.Fixed = 0, 2*time.Second, 500*time.Millisecond
			harmed := errors.New("no progress was reported")
			e.Progress = func(p Progress) {
				if p.Phase == "clients" && p.Rounds > 0 && harmed != nil {
					harmed = harm(owner, t.Context())
				}
			}
			out, err := Run(t.Context(), e)
			if harmed != nil {
				t.Fatal(harmed)
			}
			if !errors.Is(err, servers.ErrLost) || out == nil || len(out.Record.Ops) == 0 || out.Verdict != nil {
				t.Errorf("got %v, %+v; want that it was lost, no verdict, and what was recorded", err, out)
			}
		})
	}
}
