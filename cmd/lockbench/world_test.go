package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/subject"
	"github.com/lockbench/lockbench/verdicts"
)

// fakeProvider is a source of servers that never starts one.
type fakeProvider struct {
	name string
	err  error // of Available
}

func (p fakeProvider) Name() string                    { return p.name }
func (p fakeProvider) Guest() bool                     { return false }
func (p fakeProvider) Available(context.Context) error { return p.err }
func (p fakeProvider) Start(context.Context, servers.Spec) (servers.Deployment, error) {
	return nil, errors.New("a fake starts nothing")
}

// safeBuffer may be written to by several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// testWorld is a world whose harness is a function, so that every end of a run can be had at once.
type testWorld struct {
	world
	out, err *safeBuffer
	signals  chan os.Signal
	ran      []harness.Experiment
}

// newWorld makes a world whose runs all end in a verdict.
func newWorld(verdict checker.Result) *testWorld {
	w := &testWorld{out: &safeBuffer{}, err: &safeBuffer{}, signals: make(chan os.Signal)}
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w.world = world{out: w.out, err: w.err, now: func() time.Time { return now },
		random: bytes.NewReader(bytes.Repeat([]byte{7}, 1<<16)), env: func(string) string { return "" },
		providers: func() []servers.Provider {
			return []servers.Provider{fakeProvider{name: "process"}, &harness.Sim{}}
		},
		suiteRunner: harness.Suite, notify: func() (<-chan os.Signal, func()) { return w.signals, func() {} }, quit: func(int) {}}
	w.runner = func(_ context.Context, e harness.Experiment) (*harness.Outcome, error) {
		return outcome(e, verdict), nil
	}
	return w
}

// outcome is a run with a verdict on mutual exclusion and nothing else.
func outcome(e harness.Experiment, verdict checker.Result) *harness.Outcome {
	p := checker.Property{Name: verdicts.MutualExclusion, Verdict: verdict, Opportunities: 100, CI95: [2]float64{0, 0.03}}
	v := &checker.Verdict{Verdict: verdict, Properties: []checker.Property{p}, Operations: checker.Operations{}}
	if verdict == checker.Fail {
		first := &checker.Violation{Property: p.Name, Cause: verdicts.MisUnlock, Clients: []string{"c1", "c2"}, Key: "job", Story: []string{"c1 held"}}
		v.Properties[0].Violations, v.Properties[0].First, v.Properties[0].Causes = 1, first, map[verdicts.Cause]int{verdicts.MisUnlock: 1}
		v.Violations = []checker.Violation{*first}
	}
	run := results.Run{Lock: e.Variant.Name, Scenario: e.Scenario.Name, Server: e.Provider.Name(), Seed: e.Seed}
	r := results.NewResult(run, *v)
	r.Rerun = e.Rerun
	return &harness.Outcome{Run: run, Result: r, Verdict: v}
}

// call runs a command line in the world and gives its exit code.
func (w *testWorld) call(t *testing.T, args ...string) int {
	t.Helper()
	inner := w.runner
	var mu sync.Mutex
	watched := w.world
	watched.runner = func(ctx context.Context, e harness.Experiment) (*harness.Outcome, error) {
		mu.Lock()
		w.ran = append(w.ran, e)
		mu.Unlock()
		return inner(ctx, e)
	}
	if args[0] == "suite" && !slices.Contains(args, "--out") { // nothing is left where the tests lie
		args = append(args, "--out", t.TempDir())
	}
	return execute(t.Context(), append([]string{"lockbench"}, args...), watched)
}

// exits runs a command line in the world and wants an exit code.
func (w *testWorld) exits(t *testing.T, code int, args ...string) {
	t.Helper()
	if got := w.call(t, args...); got != code {
		t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, code, w.out, w.err)
	}
}

// want compares what a stream got.
func want(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: no %q in\n%s", what, p, got)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// simpleLock is what somebody's own lock looks like: SET NX PX and a script that compares.
type simpleLock struct {
	redis   redis.UniversalClient
	key     string
	token   string
	ttl     time.Duration
	release *redis.Script
}

const (
	compareAndDelete = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	deleteWhatever   = `return redis.call('del', KEYS[1])`
)

// lockChild is a program whose lock releases with a script.
func lockChild(release string) func() {
	return func() {
		err := subject.Serve(func(c subject.Config) (any, error) {
			return &simpleLock{redis: c.Redis, key: c.Key, ttl: c.TTL, release: redis.NewScript(release)}, nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func (l *simpleLock) TryLock(ctx context.Context) (bool, error) {
	token := rand.Text()
	ok, err := l.redis.SetNX(ctx, l.key, token, l.ttl).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

func (l *simpleLock) Unlock(ctx context.Context) error {
	n, err := l.release.Run(ctx, l.redis, []string{l.key}, l.token).Int()
	if err == nil && n == 0 {
		return impls.ErrLost
	}
	return err
}

func (l *simpleLock) Token() string { return l.token }
