package latency_test

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results/latency"
)

const ms = int64(time.Millisecond)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hist(t *testing.T, s *latency.Set, tag latency.Tag) *hdr.Histogram {
	t.Helper()
	one := s.Get(tag)
	if one == nil {
		t.Fatalf("no series %s", tag)
	}
	return one
}

// within reports whether a value equals want within the precision of three digits.
func within(got, want int64) bool {
	return math.Abs(float64(got-want)) <= math.Max(float64(want)/1000, 1024)
}

// TestStallCountsFromTheIntendedStart is the coordinated-omission test: a client that should start
// every millisecond stalls for one second in its tenth operation. Everything due meanwhile starts
// late, which only the response latency shows.
func TestStallCountsFromTheIntendedStart(t *testing.T) {
	set := latency.NewSet(nil)
	now := int64(0)
	for i := range int64(1000) {
		intended := i * ms
		call := max(now, intended)
		now = call + ms/10
		if i == 10 {
			now = call + 1000*ms
		}
		set.Add(latency.Acquire, intended, call, now)
	}
	service := hist(t, set, latency.Tag{Op: latency.Acquire, Service: true})
	response := hist(t, set, latency.Tag{Op: latency.Acquire})
	if got := service.ValueAtPercentile(99); !within(got, ms/10) {
		t.Errorf("service p99 = %d ns, want 100 µs: the call itself was quick", got)
	}
	if got := response.ValueAtPercentile(50); got < 400*ms {
		t.Errorf("response p50 = %d ns, want more than 400 ms, because half of the operations started that late", got)
	}
	if got := response.Max(); !within(got, 1000*ms) {
		t.Errorf("response max = %d ns, want 1 s", got)
	}
}

// TestOutOfRangeIsCounted: values above 3 s, which redis-benchmark clamps, are recorded, and values
// out of range are counted.
func TestOutOfRangeIsCounted(t *testing.T) {
	for _, tt := range []struct {
		name    string
		value   int64
		dropped int64
	}{
		{"zero is a sample", 0, 0},
		{"below the resolution is a sample", 10, 0},
		{"ten minutes fit", 600_000 * ms, 0},
		{"an hour fits", latency.Highest, 0},
		{"a nanosecond more does not", latency.Highest + 1, 1},
		{"time does not run backwards", -5, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := latency.NewSet(nil)
			set.Add(latency.Acquire, 100, 100, 100+tt.value)
			all := set.Both(latency.Acquire, false)
			if set.Dropped() != tt.dropped {
				t.Errorf("dropped %d, want %d", set.Dropped(), tt.dropped)
			}
			if got := all.TotalCount(); got != 1-tt.dropped {
				t.Errorf("histogram holds %d samples, want %d", got, 1-tt.dropped)
			}
		})
	}
}

func TestFaultWindowsSplitTheSamples(t *testing.T) {
	windows := []history.Window{
		{Start: 100, End: 200, Confirmed: true},
		{Start: 150, End: 300, Confirmed: true},
		{Start: 0, End: 0, Confirmed: false}, // not confirmed, so it must not cover the run
		{Start: 900, Confirmed: true},        // never healed
	}
	for _, tt := range []struct {
		name           string
		intended, call int64
		ret            int64
		want           bool // it counts as inside
	}{
		{"before the first", 10, 10, 99, false},
		{"touches its start", 10, 10, 100, true},
		{"within the overlap of two", 160, 160, 170, true},
		{"touches the end of the second", 300, 300, 310, true},
		{"between", 301, 301, 899, false},
		{"spans one", 50, 50, 400, true},
		{"intended in one, called after it", 290, 305, 310, true},
		{"in the one that never ends", 5000, 5000, 5001, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := latency.NewSet(windows)
			set.Add(latency.Acquire, tt.intended, tt.call, tt.ret)
			for _, inside := range []bool{false, true} {
				got := set.Get(latency.Tag{Op: latency.Acquire, Inside: inside}) != nil
				if got != (inside == tt.want) {
					t.Errorf("inside %v: %v, want %v", inside, got, inside == tt.want)
				}
			}
		})
	}
}

// TestLogIsReadByTheReader reads the .hlog back with the library's own reader.
func TestLogIsReadByTheReader(t *testing.T) {
	set := latency.NewSet([]history.Window{{Start: 4900 * ms, End: 5100 * ms, Confirmed: true}})
	for i := int64(1); i <= 1000; i++ {
		set.Add(latency.Acquire, i*ms, i*ms+ms/2, i*ms+i*ms)
	}
	set.Add(latency.Release, 5000*ms, 5000*ms, 5001*ms)
	var b bytes.Buffer
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	must(t, set.WriteLog(&b, start, start.Add(10*time.Second)))
	type row struct{ count, max int64 }
	got := map[string]row{}
	reader := hdr.NewHistogramLogReader(&b)
	for {
		h, err := reader.NextIntervalHistogram()
		must(t, err)
		if h == nil {
			break
		}
		got[h.Tag()] = row{h.TotalCount(), h.Max()}
		if h.StartTimeMs() != start.UnixMilli() || h.EndTimeMs() != start.UnixMilli()+10_000 {
			t.Errorf("%s: from %d to %d", h.Tag(), h.StartTimeMs(), h.EndTimeMs())
		}
	}
	want := map[string]row{"acquire": {1000, 1000 * ms}, "acquire.service": {1000, 1000*ms - ms/2},
		"release.inside": {1, ms}, "release.service.inside": {1, ms}}
	if len(got) != len(want) {
		t.Errorf("tags %v, want %v", got, want)
	}
	for tag, w := range want {
		if g := got[tag]; g.count != w.count || !within(g.max, w.max) {
			t.Errorf("%s: %+v, want %+v", tag, g, w)
		}
	}
}

func TestSpectrumIsInMilliseconds(t *testing.T) {
	set := latency.NewSet(nil)
	for range 10 {
		set.Add(latency.Acquire, 0, 0, 250*ms)
	}
	var b strings.Builder
	must(t, set.WriteSpectrum(&b, latency.Acquire))
	for _, want := range []string{"Value\tPercentile\tTotalCount\t1/(1-Percentile)", "250.", "Total count    =           10"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := set.WriteSpectrum(&b, latency.Extend); err != nil || b.Len() != 0 {
		t.Errorf("without a sample: %q, %v", b.String(), err)
	}
}

// TestLiveIsWithinAnEighth compares the live figures with the sorted samples, of two clients.
func TestLiveIsWithinAnEighth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Int64Range(0, latency.Highest), 1, 200).Draw(t, "samples")
		percent := rapid.Float64Range(1, 100).Draw(t, "percent")
		a, b := &latency.Live{}, &latency.Live{}
		for i, v := range all {
			[]*latency.Live{a, b}[i%2].Record(v)
		}
		slices.Sort(all)
		rank := percent / 100 * float64(len(all)) // the library rounds it
		low, high := all[max(int(math.Floor(rank)), 1)-1], all[max(int(math.Ceil(rank)), 1)-1]
		got := latency.Waits(a, b).ValueAtPercentile(percent)
		if got < low || got > high+high/8+latency.Lowest {
			t.Fatalf("%g %% of %v: %v, want %v to %v, at most an eighth more", percent, all, got, low, high)
		}
	})
	r := &latency.Live{}
	r.Record(-10) // a clock that ran backwards
	if got := latency.Waits(r).ValueAtPercentile(100); got > latency.Lowest {
		t.Errorf("of a negative sample: %v", got)
	}
}

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
