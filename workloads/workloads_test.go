package workloads

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a Recorder that keeps its records.
type memory struct {
	mu    sync.Mutex
	begun []history.Op
	ops   []history.Operation
}

func (m *memory) Begin(op history.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.begun = append(m.begun, op.Op)
}

func (m *memory) Add(op history.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops = append(m.ops, op)
}

func (m *memory) text() string {
	var words []string
	for _, op := range m.ops {
		words = append(words, strings.TrimSuffix(op.Op.String()+":"+op.Outcome.String(), ":"))
	}
	return strings.Join(words, " ")
}

// rig is a client of a lock on miniredis.
type rig struct {
	*Client
	memory  *memory
	moments []history.Moment
	fail    map[history.Moment]error // errors that At returns
}

func newRig(t *testing.T, lock string, cfg Config) *rig {
	t.Helper()
	server := miniredis.RunT(t)
	server.ClockTTL(true)
	v, ok := catalogue.Find(lock)
	if !ok {
		t.Fatalf("no lock %q", lock)
	}
	r := &rig{memory: &memory{}, fail: map[history.Moment]error{}}
	start := time.Now()
	cfg.Lease = time.Second
	client, end := Connect(Access{
		Addrs: []string{server.Addr()}, StoreAddr: server.Addr(), Dial: (&net.Dialer{}).DialContext, Clock: impls.SystemClock{},
		Timeline: func() int64 { return int64(time.Since(start)) }, Record: r.memory,
		At: func(_ context.Context, m history.Moment, _ string) error {
			r.moments = append(r.moments, m)
			return r.fail[m]
		},
	}, Setup{Variant: v, Config: cfg})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
	r.Client = client
	return r
}

type roundRow struct {
	workload string
	lock     string
	want     string
	wrote    []int64
}

// rounds returns 1 for the workload that holds for leases, else 2.
func (r roundRow) rounds() int {
	if r.workload == "long-hold" {
		return 1
	}
	return 2
}

func TestRoundsAreRecorded(t *testing.T) {
	rows := []roundRow{
		{"counter", "token", "acquire:ok write:ok use release:ok acquire:ok write:ok use release:ok", []int64{1, 2}},
		// the only client pays
		{"transfer", "token", "acquire:ok write:ok use release:ok acquire:ok write:ok use release:ok", []int64{900, 800}},
		// a new draw each round
		{"lottery", "token", "acquire:ok write:ok use release:ok acquire:ok write:ok use release:ok", []int64{10, 10}},
		// a tick, a second
		{"ticks", "token", "acquire:ok write:ok use release:ok acquire:ok write:ok use release:ok", []int64{1, 2}},
		// nothing is stored
		{"hot", "token", "acquire:ok use release:ok acquire:ok use release:ok", nil},
		{"long-hold", "token", "acquire:ok extend:ok extend:ok extend:ok extend:ok extend:ok extend:ok write:ok use release:ok", []int64{1}},
		{"long-hold", "set-nx-ex", "acquire:ok extend:fail write:ok use release:ok", []int64{1}}, // cannot extend
		// refused, so it stores nothing
		{"counter", "lua-nil", "acquire:busy acquire:busy", nil},
	}
	for _, row := range rows {
		t.Run(row.workload+" "+row.lock, func(t *testing.T) {
			r := newRig(t, row.lock, Config{Ops: row.rounds()})
			w, _ := Find(row.workload)
			if err := w.Prepare(t.Context(), r.store); err != nil {
				t.Fatal(err)
			}
			if err := w.Run(t.Context(), r.Client); err != nil {
				t.Fatal(err)
			}
			if got := r.memory.text(); got != row.want {
				t.Errorf("recorded %q, want %q", got, row.want)
			}
			var wrote []int64
			for _, op := range r.memory.ops {
				if op.Op == history.Write {
					wrote = append(wrote, op.Wrote)
				}
			}
			if !slices.Equal(wrote, row.wrote) {
				t.Errorf("wrote %v, want %v", wrote, row.wrote)
			}
		})
	}
}

func TestMomentsOfARound(t *testing.T) {
	r := newRig(t, "token", Config{Ops: 1})
	w, _ := Find("counter")
	if err := w.Run(t.Context(), r.Client); err != nil {
		t.Fatal(err)
	}
	want := []history.Moment{history.Calling, history.Granted, history.Entered, history.BeforeRelease, history.Released}
	if !slices.Equal(r.moments, want) {
		t.Errorf("moments %v, want %v", r.moments, want)
	}
}

func TestCrashEndsTheClient(t *testing.T) {
	rows := []struct {
		at   history.Moment
		want string
	}{
		{history.Calling, ""},
		{history.Granted, "acquire:ok"},
		{history.Entered, "acquire:ok use"}, // the crash ends the use
		{history.BeforeRelease, "acquire:ok write:ok use"},
	}
	for _, row := range rows {
		t.Run(string(row.at), func(t *testing.T) {
			r := newRig(t, "token", Config{Ops: 3})
			r.fail[row.at] = impls.ErrCrashed
			w, _ := Find("counter")
			if err := w.Run(t.Context(), r.Client); !errors.Is(err, impls.ErrCrashed) {
				t.Errorf("ended with %v, want ErrCrashed", err)
			}
			if got := r.memory.text(); got != row.want {
				t.Errorf("recorded %q, want %q", got, row.want)
			}
		})
	}
}

// TestStore: the store refuses stale fences, and counts the writes of a key that it accepted.
func TestStore(t *testing.T) {
	rows := []struct {
		value   int64
		fence   uint64
		want    error
		version uint64
	}{
		{1, 5, nil, 1},
		{2, 5, nil, 2},      // the same holder again
		{3, 4, errStale, 2}, // an earlier one
		{4, 6, nil, 3},
		{4, 6, nil, 4}, // the same value again is another version
		{5, 0, nil, 5}, // a lock without fences is not guarded
	}
	for name, loose := range map[string]bool{"atomic": false, "loose": true} {
		t.Run(name, func(t *testing.T) {
			store := newRig(t, "token", Config{}).store.(redisStore)
			store.Loose = loose
			for _, fence := range []uint64{0, 3} {
				if got, err := store.Read(t.Context(), "k", fence); err != nil || got != (Stored{}) {
					t.Fatalf("an empty store has %+v, %v", got, err)
				}
			}
			for _, row := range rows {
				_, readErr := store.Read(t.Context(), "k", row.fence) // records the fence, as a round does
				version, err := store.Write(t.Context(), "k", row.value, row.fence)
				if !errors.Is(err, row.want) || readErr != nil {
					t.Errorf("write %d with fence %d: %v, want %v", row.value, row.fence, err, row.want)
				}
				got, _ := store.Read(t.Context(), "k", 0)
				if got.Version != row.version || (version == row.version && got.Value == row.value) != (row.want == nil) {
					t.Errorf("after write %d with fence %d, which made version %d, the store has %+v", row.value, row.fence, version, got)
				}
			}
		})
	}
}

// TestWritesHaveVersions: a write names the version that it replaced, and the one that it made.
func TestWritesHaveVersions(t *testing.T) {
	for _, lock := range []string{"token", "fenced"} {
		r := newRig(t, lock, Config{Ops: 3})
		w, _ := Find("counter")
		if err := w.Run(t.Context(), r.Client); err != nil {
			t.Fatal(err)
		}
		next := uint64(1)
		for _, op := range r.memory.ops {
			if op.Op != history.Write {
				continue
			}
			if !op.Versioned || op.ReadVersion != next-1 || op.Version != next {
				t.Errorf("%s: write %d read version %d and made %d", lock, next, op.ReadVersion, op.Version)
			}
			next++
		}
		if next != 4 {
			t.Errorf("%s: %d writes, want 3", lock, next-1)
		}
	}
}

func TestStopBeginsNoNewRound(t *testing.T) {
	r := newRig(t, "token", Config{})
	stop := make(chan struct{})
	close(stop)
	r.Stop = stop
	w, _ := Find("counter")
	if err := w.Run(t.Context(), r.Client); err != nil || len(r.memory.ops) != 0 {
		t.Errorf("a stopped client did %q, %v", r.memory.text(), err)
	}
}

func TestOpenLoopCountsFromTheIntendedStart(t *testing.T) {
	r := newRig(t, "token", Config{Ops: 3})
	r.Pace = func(n int) int64 { return int64(n) * int64(20*time.Millisecond) }
	var intended []int64
	r.Observe = func(op history.Op, _ history.Outcome, at, call, _ int64) {
		if op == history.Acquire {
			intended = append(intended, at)
			if call < at {
				t.Errorf("called at %d, before its intended start %d", call, at)
			}
		} else if at != call {
			t.Errorf("%s: intended start %d, call %d: only a round's acquire has an intended start of its own", op, at, call)
		}
	}
	w, _ := Find("hot")
	if err := w.Run(t.Context(), r.Client); err != nil {
		t.Fatal(err)
	}
	if want := []int64{0, 20_000_000, 40_000_000}; !slices.Equal(intended, want) {
		t.Errorf("intended starts %v, want %v", intended, want)
	}
}

func TestZipfProbabilities(t *testing.T) {
	const n, draws = 10, 200_000
	z, rng := newZipf(n, zipfExponent), rand.New(rand.NewPCG(1, 2))
	var seen [n]float64
	for range draws {
		seen[drawZipf(z, rng)]++
	}
	sum := 0.0
	for i := range n {
		sum += 1 / math.Pow(float64(i+1), zipfExponent)
	}
	for i := range n {
		want := draws / math.Pow(float64(i+1), zipfExponent) / sum
		if math.Abs(seen[i]-want) > 4*math.Sqrt(want) {
			t.Errorf("rank %d was drawn %.0f times, want %.0f ± %.0f", i, seen[i], want, 4*math.Sqrt(want))
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range All() {
		if seen[w.Name()] || w.About() == "" {
			t.Errorf("workload %q: the name repeats or the sentence is missing", w.Name())
		}
		seen[w.Name()] = true
	}
}

// TestInstantsOfAnyClock: whatever a lock says of its times, a record has room for it.
func TestInstantsOfAnyClock(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, row := range []struct {
		t    time.Time
		want int64
	}{
		{time.Time{}, 0}, {now, 50}, {now.Add(7), 57}, {now.Add(-50), 0}, {now.Add(-51), 1}, {time.Unix(0, 0), 1},
		{now.AddDate(9000, 0, 0), untilLost}, {now.AddDate(-900, 0, 0), 1}, {impls.UntilLost, untilLost},
	} {
		if got := instant(row.t, 50, now); got != row.want {
			t.Errorf("%v: %d, want %d", row.t, got, row.want)
		}
	}
}
