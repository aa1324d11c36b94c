package bench

import (
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/testneeds"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/servers"
)

// short returns a bench of a second on a real server, or skips the test if there is none.
func short(t *testing.T, locks ...string) Config {
	t.Helper()
	testneeds.RedisBinary(t)
	c := Config{Clients: []int{4}, Keys: []int{1}, Holds: []time.Duration{0}, Duration: 400 * time.Millisecond, WarmUp: 100 * time.Millisecond, Repetitions: 2,
		Lease: 10 * time.Second, Poll: time.Millisecond, Seed: 1, Provider: servers.NewProcess(servers.ProcessOptions{}), Random: rand.Reader, Now: time.Now}
	for _, name := range locks {
		v, ok := catalogue.Find(name)
		if !ok {
			t.Fatalf("no lock %q", name)
		}
		c.Locks = append(c.Locks, v)
	}
	return c
}

func cellOf(t *testing.T, b results.Bench, lock string) results.BenchCell {
	t.Helper()
	for _, c := range b.Cells {
		if c.Lock == lock {
			return c
		}
	}
	t.Fatalf("no cell of %s", lock)
	return results.BenchCell{}
}

// TestRunMeasures: every figure of a closed loop, of the bare loop and of a lock.
func TestRunMeasures(t *testing.T) {
	c := short(t, "token")
	c.Repetitions, c.Duration = 1, time.Second
	b, err := Run(t.Context(), c)
	must(t, err)
	for _, name := range []string{bareName, "token"} {
		c := cellOf(t, b, name)
		if c.Verdict == checker.Fail || c.Why != "" {
			t.Errorf("%s: %s %s %+v", name, c.Verdict, c.Why, c.Breaks)
		}
		for _, m := range []string{"throughput", "requests", "bytes", "client-cpu", "server-cpu", "jain"} {
			if f := c.Figures[m]; f.Value == nil || *f.Value <= 0 {
				t.Errorf("%s: %s is %+v", name, m, f)
			}
		}
	}
	if f := cellOf(t, b, bareName).Figures["requests"]; f.Value == nil || *f.Value < 1.5 || *f.Value > 3 {
		t.Errorf("the bare loop sends %+v requests a hold, want 2", f)
	}
	if b.RoundTrip.Value == nil || *b.RoundTrip.Value <= 0 {
		t.Errorf("round trip %+v", b.RoundTrip)
	}
}

// TestRunChecks: the cell of a lock that admits two clients has its violations.
func TestRunChecks(t *testing.T) {
	c := short(t, "exists-set")
	c.Clients, c.Greedy, c.Repetitions, c.Duration, c.Holds = []int{8}, true, 1, 2*time.Second, []time.Duration{time.Millisecond}
	b, err := Run(t.Context(), c)
	must(t, err)
	if c := cellOf(t, b, "exists-set"); c.Verdict != checker.Fail || len(c.Breaks) == 0 || b.Verdict != checker.Fail {
		t.Errorf("exists-set: %s %+v, want it to fail", c.Verdict, c.Breaks)
	}
}

// TestRunMeasuresTheRecovery: a dead holder's lock becomes free when its lease expires.
func TestRunMeasuresTheRecovery(t *testing.T) {
	c := short(t, "token")
	c.Clients, c.Repetitions, c.Crash = []int{2}, 1, true
	b, err := Run(t.Context(), c)
	must(t, err)
	for _, cell := range b.Cells {
		if cell.Lock != "token" || !cell.Setting.Crash {
			continue
		}
		f := cell.Figures["recovery"]
		if f.Value == nil || *f.Value < float64(crashLease)/2 || *f.Value > float64(crashLease)*1.3 {
			t.Errorf("recovery %+v, want about a lease of %v", f, crashLease)
		}
		return
	}
	t.Error("no cell of crashes")
}

// TestRunFindsAKnee: with a limit that every rate exceeds, and one that none does up to the
// highest.
func TestRunFindsAKnee(t *testing.T) {
	for _, row := range []struct {
		limit string
		none  bool
	}{{"acquire.p50<=1ns", true}, {"acquire.p50<=1h", false}} {
		g, err := results.ParseGate(row.limit)
		must(t, err)
		c := short(t, "token")
		c.Find, c.Rates, c.Clients, c.Repetitions, c.Duration = &g, []float64{40, 80}, []int{2}, 1, 500*time.Millisecond
		b, err := Run(t.Context(), c)
		must(t, err)
		for _, k := range b.Knees {
			if (*k.Rate.Value == 0) != row.none || k.Open == row.none || len(k.Steps) == 0 {
				t.Errorf("%s: %+v", row.limit, k)
			}
		}
	}
}

// TestRunStops: the measurements so far are kept.
func TestRunStops(t *testing.T) {
	c := short(t, "token")
	stop := make(chan struct{})
	c.Stop, c.Progress = stop, func(p Progress) {
		if p.Turn == 2 {
			close(stop)
		}
	}
	b, err := Run(t.Context(), c)
	if err != nil || !b.Interrupted || len(b.Notes) == 0 {
		t.Errorf("%v %+v", err, b.Notes)
	}
}

// TestALockThatCannotBeRun: its cell says why, and the other locks are measured.
func TestALockThatCannotBeRun(t *testing.T) {
	c := short(t, "token")
	broken := impls.Variant{Name: "broken", Kind: "mutex", Topology: "no such topology", New: func(impls.Env) (impls.Lock, error) { return nil, impls.ErrUnsupported }}
	c.Locks = append(c.Locks, broken)
	b, err := Run(t.Context(), c)
	must(t, err)
	if cell := cellOf(t, b, "broken"); cell.Verdict != checker.NotApplicable || cell.Why == "" {
		t.Errorf("%+v", cell)
	}
	if cell := cellOf(t, b, "token"); cell.Figures["throughput"].Value == nil {
		t.Errorf("%+v", cell)
	}
}

// TestRunWithoutAServer: with nothing measured there is no bench, but an error that names the
// server.
func TestRunWithoutAServer(t *testing.T) {
	c := short(t, "token")
	url, err := servers.NewURL(servers.Access{}, "redis://127.0.0.1:1")
	must(t, err)
	c.Provider = url
	if _, err := Run(t.Context(), c); !errors.Is(err, servers.ErrMissing) {
		t.Errorf("%v, want %v", err, servers.ErrMissing)
	}
}

// TestSearchRange: the rates of a search lie between the given ones and give enough samples for the
// percentile.
func TestSearchRange(t *testing.T) {
	g, err := results.ParseGate("acquire.p99<=1h")
	must(t, err)
	for _, row := range []struct {
		why       string
		rates     []float64
		low, high float64 // low 0: an error
	}{
		{"no rates: from the samples that p99 needs", nil, 120, 0},
		{"enough samples at the lowest", []float64{200, 400}, 200, 400},
		{"too few at the lowest", []float64{50, 400}, 120, 400},
		{"too few at the highest", []float64{50, 100}, 0, 0},
	} {
		low, high, err := Config{Find: &g, Rates: row.rates, Duration: 2 * time.Second, Repetitions: 2}.SearchRange()
		if low != row.low || high != row.high || (err != nil) != (row.low == 0) {
			t.Errorf("%s: %v to %v, %v", row.why, low, high, err)
		}
	}
}

// TestRunRepeatsUntilEnough: the repetitions are run again, with the same length, until Enough
// returns true.
func TestRunRepeatsUntilEnough(t *testing.T) {
	c := short(t, "token")
	each := c.Duration / time.Duration(c.Repetitions)
	var asked []int
	c.Enough = func(b results.Bench) bool {
		asked = append(asked, b.Plan.Repetitions)
		return len(asked) == 2
	}
	b, err := Run(t.Context(), c)
	must(t, err)
	got := cellOf(t, b, "token").Figures["throughput"]
	if !slices.Equal(asked, []int{2, 4}) || b.Plan.Repetitions != 4 || b.Plan.Measure != each || len(got.Values) != 4 || slices.Contains(got.Values, nil) {
		t.Errorf("Enough was called after %v repetitions; the plan says %d of %v, and throughput has %d values", asked, b.Plan.Repetitions, b.Plan.Measure, len(got.Values))
	}
	c.Enough = func(results.Bench) bool { return false }
	if b, err = Run(t.Context(), c); err != nil || b.Plan.Repetitions != mostRounds*c.Repetitions {
		t.Errorf("never enough: %d repetitions, %v", b.Plan.Repetitions, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
