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
