package page

import (
	"slices"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/latency"
)

// TestOutcomesAreAllShown: every outcome that an operation can have has a column and, unless the
// word is plain, a sentence.
func TestOutcomesAreAllShown(t *testing.T) {
	counted, want := checker.Operations{"use": {"done": 1}}, []string{}
	for o := history.OK; o <= history.Unknown; o++ {
		counted["acquire "+o.String()] = map[string]int{o.String(): 1}
		want = append(want, o.String())
		if (outcomeAbout(o.String()) == "") != (o == history.OK) {
			t.Errorf("%s: said %q", o, outcomeAbout(o.String()))
		}
	}
	var v runView
	v.judged(results.Result{Operations: counted}, &digest{})
	if !slices.Equal(v.Outcomes, append(want, "done")) {
		t.Errorf("columns %q, want %q and done", v.Outcomes, want)
	}
}

// TestCommandsNeedTheirSamples: a command's p99 is shown from a hundred samples on, its p50 from
// five.
func TestCommandsNeedTheirSamples(t *testing.T) {
	for samples, want := range map[int64][]string{4: {"–", "–"}, 99: {"1.00ms", "–"}, 100: {"1.00ms", "1.00ms"}} {
		trips := hdr.New(latency.Lowest, latency.Highest, 2)
		must(t, trips.RecordValues(ms, samples))
		var v runView
		v.commands(&digest{requests: samples, granted: 1, byCommand: map[string]*commandCount{"SET": {"SET", samples, trips}}})
		if got := v.Commands[0][3:]; !slices.Equal(got, want) {
			t.Errorf("of %d samples: %q, want %q", samples, got, want)
		}
	}
}

// TestAWaiterHasNothingToKeep: what the server may have kept of a hold is drawn from its grant on,
// though a record that does not say when the granted try began leaves the whole wait open.
func TestAWaiterHasNothingToKeep(t *testing.T) {
	h := checker.Hold{Acquire: history.Operation{Op: history.Acquire, Outcome: history.OK, Call: 1 * ms, Return: 50 * ms},
		Belief: []checker.Span{{From: 50 * ms, To: 60 * ms}}, Possible: checker.Span{From: 1 * ms, To: 61 * ms}}
	d := drawing{lanes: &lanes{To: 100 * ms}}
	if got, want := d.hold(h).Possible, [2]int64{50 * ms, 61 * ms}; got == nil || *got != want {
		t.Errorf("drawn %v, want %v", got, want)
	}
	h.Belief = nil // no reply came: it may have had its effect at once
	if got, want := d.hold(h).Possible, [2]int64{1 * ms, 61 * ms}; got == nil || *got != want {
		t.Errorf("without a reply: drawn %v, want %v", got, want)
	}
}

// TestLinesHaveEnoughGrants: a line of few grants has few points, and one of many has many.
func TestLinesHaveEnoughGrants(t *testing.T) {
	for _, row := range []struct {
		why           string
		grants        int
		fewest, limit int64
	}{
		{"none", 0, 1, 1},
		{"fewer than points", 18, leastBuckets, 2 * leastBuckets},
		{"about twenty for each of leastBuckets points", 1000, leastBuckets, 1000 / enough},
		{"many", 100_000, maxBuckets / 2, maxBuckets},
	} {
		l := &timeline{width: 1 << 20, buckets: map[int64]*bucket{}}
		for i := range row.grants {
			end := int64(i+1) * int64(3*time.Second) / int64(row.grants)
			l.take(&history.Operation{Op: history.Acquire, Outcome: history.OK, Call: end - 1000, Return: end})
		}
		l.widen()
		if n := l.high - l.low + 1; n < row.fewest || n > row.limit {
			t.Errorf("%s: %d points, want %d to %d", row.why, n, row.fewest, row.limit)
		}
	}
}

// TestPercentilesNeedTheirSamples: a bucket shows a percentile if it has the samples for it, and
// the longest wait always.
func TestPercentilesNeedTheirSamples(t *testing.T) {
	for samples, want := range map[int][3]bool{1: {false, false, true}, 5: {true, false, true}, 100: {true, true, true}} {
		l := &timeline{width: 1 << 40, buckets: map[int64]*bucket{}}
		for range samples {
			l.take(&history.Operation{Op: history.Acquire, Outcome: history.OK, Return: int64(time.Second)})
		}
		for i, value := range []func(*bucket) (float64, bool){quantile("p50"), quantile("p99"), longest} {
			if got := len(l.line("", "", value).Points) > 0; got != want[i] {
				t.Errorf("%d samples: line %d is drawn: %v, want %v", samples, i, got, want[i])
			}
		}
	}
}
