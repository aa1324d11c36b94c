package page

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
)

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
