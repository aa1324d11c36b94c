package latency_test

import (
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results/latency"
)

// TestSpectrumEndsBeforeTheLastTen: ten samples lie above each percentile that is drawn, and
// nothing is drawn that ends below the median.
func TestSpectrumEndsBeforeTheLastTen(t *testing.T) {
	for _, row := range []struct {
		samples int
		least   int
		most    float64 // 1/(1-p) of the last point
	}{{0, 0, 0}, {19, 0, 0}, {20, 2, 2}, {1000, 10, 100}} {
		h := hdr.New(latency.Lowest, latency.Highest, 2)
		for i := range row.samples {
			must(t, h.RecordValue(int64(i+1)*1e6))
		}
		points := latency.Spectrum(h)
		if len(points) < row.least || row.least == 0 && len(points) > 0 {
			t.Errorf("%d samples: %d points, want %d", row.samples, len(points), row.least)
		}
		for _, p := range points {
			if p[0] > row.most {
				t.Errorf("%d samples: a point at %.1f, want at most %.1f", row.samples, p[0], row.most)
			}
		}
	}
}
