package bench

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/lockbench/lockbench/results"
)

func TestSummary(t *testing.T) {
	if v, low, high := summary([]float64{3, 1, 2}); *v != 2 || low != nil || high != nil {
		t.Errorf("three values: %v, %v, %v, want the median and no interval", *v, low, high)
	}
	if v, low, high := summary([]float64{6, 1, 2, 3, 4, 5}); *v != 3.5 || *low != 1 || *high != 6 {
		t.Errorf("six values: %v, %v to %v", *v, *low, *high)
	}
	if v, _, _ := summary(nil); v != nil {
		t.Errorf("of nothing: %v", *v)
	}
}

// TestLeastSamples: with so many samples on each side, two samples that do not overlap differ
// significantly; with one fewer, none do.
func TestLeastSamples(t *testing.T) {
	apart := func(n int) (a, b []float64) {
		for i := range n {
			a, b = append(a, float64(i)), append(b, float64(1000+i))
		}
		return a, b
	}
	for _, alpha := range []float64{0.05, 0.01, 0.002, 0.0005} {
		n := leastSamples(alpha)
		if p := different(apart(n)); p > alpha {
			t.Errorf("alpha %v: %d samples give p=%v", alpha, n, p)
		}
		if p := different(apart(n - 1)); p <= alpha {
			t.Errorf("alpha %v: %d samples are enough, p=%v", alpha, n-1, p)
		}
	}
}

// TestNeedExceedsSamples: a figure without a value needs more samples than were taken, whatever
// their distribution over the repetitions.
func TestNeedExceedsSamples(t *testing.T) {
	for _, row := range []struct {
		why    string
		counts []int64
		need   int64
	}{
		{"each repetition has too few", []int64{2, 3}, 10},
		{"one has enough for both, and the other has one", []int64{12, 1}, 17},
	} {
		var turns []taken
		for i, n := range row.counts {
			turns = append(turns, taken{turn: turn{Repetition: i + 1}, Figures: map[string]figureSample{"hand-over.p50": {Count: n}}})
		}
		if f := newFigure("hand-over.p50", turns, len(turns)); f.Value != nil || f.Need != row.need || f.Need <= f.Samples {
			t.Errorf("%s: %d samples of %d needed, want %d", row.why, f.Samples, f.Need, row.need)
		}
	}
}

// TestPooled: the samples of all repetitions make a percentile that too few of them have alone, also
// if one has.
func TestPooled(t *testing.T) {
	for _, counts := range [][]int{{60, 60}, {120, 60}} {
		var turns []taken
		for i, n := range counts {
			values := make([]int64, n)
			for j := range values {
				values[j] = int64(j)
			}
			m := measuring{out: map[string]figureSample{}}
			m.spread("acquire", values, 1)
			turns = append(turns, taken{turn: turn{Repetition: i + 1}, Figures: m.out})
		}
		if f := newFigure("acquire.p99", turns, len(turns)); f.Value == nil || !f.Pooled {
			t.Errorf("%d samples: %+v, want the percentile of all", counts, f)
		}
	}
}

// TestRatioPairsRepetitions: a machine that is slow in one repetition is slow for both.
func TestRatioPairsRepetitions(t *testing.T) {
	var lock, reference []*float64
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		speed := math.Exp(rng.NormFloat64()) // the machine's, which changes a lot
		a, b := 80*speed, 100*speed
		lock, reference = append(lock, &a), append(reference, &b)
	}
	r := ratio(lock, reference)
	if math.Abs(r.Value-0.8) > 1e-9 || !r.Differs || math.Abs(*r.Low-0.8) > 1e-9 {
		t.Errorf("%+v, want 0.8", r)
	}
	if r := ratio(lock[:3], reference[:3]); r.Differs || r.Low != nil {
		t.Errorf("three repetitions show a difference: %+v", r)
	}
	if r := ratio(nil, reference); r != nil {
		t.Errorf("of nothing: %+v", r)
	}
}

func TestSearch(t *testing.T) {
	for _, row := range []struct {
		name      string
		low, high float64
		knee      float64 // the highest rate within the limit
		open      bool
		none      bool
	}{
		{"between", 100, 0, 1700, false, false},
		{"at the first step", 100, 0, 110, false, false},
		{"below the first step", 100, 0, 50, false, true},
		{"above the last", 100, 1000, 5000, true, false},
		{"just below the last", 100, 1000, 990, false, false},
	} {
		s, steps := &rateSearch{rate: row.low, high: row.high}, 0
		for !s.done {
			s.record(s.rate <= row.knee)
			if steps++; steps > 40 {
				t.Fatalf("%s: no end", row.name)
			}
		}
		found, open := s.found()
		if open != row.open || (found == 0) != row.none || found > row.knee || !row.none && !row.open && found*precision*precision < row.knee {
			t.Errorf("%s: found %v (open: %v) after %d steps, want nearly %v", row.name, found, open, steps, row.knee)
		}
	}
}

// aCell returns a cell with a throughput in each repetition.
func aCell(lock string, reference bool, values ...float64) results.BenchCell {
	c := results.BenchCell{Lock: lock, Reference: reference, Verdict: "pass", Setting: results.BenchSetting{Clients: 8, Keys: 1}, Figures: map[string]results.Figure{}}
	f := results.Figure{Unit: results.PerSecond, Samples: int64(len(values))}
	for _, v := range values {
		f.Values = append(f.Values, &v)
	}
	f.Value, f.Low, f.High = summary(values)
	c.Figures["throughput"] = f
	return c
}

// noisy draws n values around a center.
func noisy(rng *rand.Rand, n int, center, noise float64) (out []float64) {
	for range n {
		out = append(out, center*(1+noise*rng.NormFloat64()))
	}
	return out
}

// spread lists n values around a center, evenly over a share of it.
func spread(n int, center, share float64) (out []float64) {
	for i := range n {
		out = append(out, center*(1+share*(float64(i)/float64(n-1)-0.5)))
	}
	return out
}

func aBench(cells ...results.BenchCell) results.Bench {
	b := results.Bench{Server: "process", Plan: results.BenchPlan{Reference: bareName, Settings: []results.BenchSetting{{Clients: 8, Keys: 1}}}, Cells: cells}
	b.Judge()
	return b
}

func TestCompareBenches(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	bench := func(n int, bare, lock float64) results.Bench {
		return aBench(aCell(bareName, true, noisy(rng, n, bare, 0.02)...), aCell("token", false, noisy(rng, n, lock, 0.02)...))
	}
	loud := func(n int, bare, lock float64) results.Bench {
		return aBench(aCell(bareName, true, noisy(rng, n, bare, 0.02)...), aCell("token", false, spread(n, lock, 0.8)...))
	}
	shaky := func(n int, bare, lock float64) results.Bench {
		return aBench(aCell(bareName, true, spread(n, bare, 0.8)...), aCell("token", false, noisy(rng, n, lock, 0.02)...))
	}
	fails := func(b results.Bench) results.Bench { b.Cells[1].Verdict = "fail"; return b }
	elsewhere := func(b results.Bench) results.Bench { b.Environment.CPU = "another"; return b }
	tests := []struct {
		name      string
		base, now results.Bench
		options   CompareOptions
		want      results.CompareVerdict
		mark      string // of the throughput
	}{
		{"nothing changed", bench(10, 1000, 900), bench(10, 1000, 900), CompareOptions{}, results.ComparePass, results.MarkNone},
		{"a fifth slower", bench(10, 1000, 900), bench(10, 1000, 720), CompareOptions{}, results.CompareSlower, results.MarkWorse},
		{"a twentieth slower is shown and does not count", bench(10, 1000, 900), bench(10, 1000, 855), CompareOptions{}, results.ComparePass, results.MarkSmall},
		{"a fifth quicker", bench(10, 1000, 900), bench(10, 1000, 1080), CompareOptions{}, results.ComparePass, results.MarkBetter},
		{"the machine is a third slower, the lock as before", bench(10, 1000, 900), bench(10, 660, 594), CompareOptions{}, results.ComparePass, results.MarkNone},
		{"the machine is a third quicker, the lock as before", bench(10, 1000, 900), bench(10, 1500, 960), CompareOptions{}, results.CompareInconclusive, results.MarkHidden},
		{"the reference is a twelfth quicker, the lock a twentieth slower", bench(10, 1000, 900), bench(10, 1080, 860), CompareOptions{}, results.ComparePass, results.MarkSmall},
		{"the reference is a twelfth quicker, the lock a fifth slower", bench(10, 1000, 900), bench(10, 1080, 720), CompareOptions{}, results.CompareSlower, results.MarkWorse},
		{"only the reference is noisy", shaky(10, 1000, 900), shaky(10, 1000, 901), CompareOptions{}, results.ComparePass, results.MarkNone},
		{"the same, raw", bench(10, 1000, 900), bench(10, 660, 594), CompareOptions{Raw: true}, results.CompareSlower, results.MarkWorse},
		{"noise that could hide a fifth", loud(10, 1000, 900), loud(10, 1000, 901), CompareOptions{}, results.CompareInconclusive, results.MarkHidden},
		{"clearly slower in spite of noise", loud(10, 1000, 900), loud(10, 1000, 200), CompareOptions{}, results.CompareSlower, results.MarkWorse},
		{"three repetitions are too few", bench(3, 1000, 900), bench(3, 1000, 450), CompareOptions{}, results.CompareInconclusive, results.MarkFewer},
		{"it admits two now", bench(10, 1000, 900), fails(bench(10, 1000, 900)), CompareOptions{}, results.CompareUnsafe, results.MarkNone},
		{"it admitted two before", fails(bench(10, 1000, 900)), fails(bench(10, 1000, 900)), CompareOptions{}, results.ComparePass, results.MarkNone},
		{"another machine", bench(10, 1000, 900), elsewhere(bench(10, 1000, 900)), CompareOptions{}, results.CompareInconclusive, results.MarkNone},
		{"another machine, allowed", bench(10, 1000, 900), elsewhere(bench(10, 1000, 900)), CompareOptions{AllowEnvironments: true}, results.ComparePass, results.MarkNone},
		{"safety goes before the environment", bench(10, 1000, 900), fails(elsewhere(bench(10, 1000, 900))), CompareOptions{}, results.CompareUnsafe, results.MarkNone},
		{"the lock is gone", bench(10, 1000, 900), aBench(aCell(bareName, true, noisy(rng, 10, 1000, 0.02)...)), CompareOptions{}, results.CompareInconclusive, ""},
	}
	for _, tt := range tests {
		c := CompareBenches(tt.base, tt.now, tt.options)
		mark := ""
		for _, r := range c.Rows {
			if r.Metric == "throughput" {
				mark = r.Mark
			}
		}
		if c.Verdict != tt.want || mark != tt.mark {
			t.Errorf("%s: %s, %q, want %s, %q: %+v", tt.name, c.Verdict, mark, tt.want, tt.mark, c)
		}
	}
}

// TestWaitIsGatedInAnOpenLoop: there the plan fixes the throughput; in a closed loop the throughput
// has the wait in it.
func TestWaitIsGatedInAnOpenLoop(t *testing.T) {
	bench := func(rate, wait float64) results.Bench {
		b := aBench(aCell(bareName, true, spread(10, 1000, 0.02)...), aCell("token", false, spread(10, 900, 0.02)...))
		for i := range b.Cells {
			b.Cells[i].Setting.Rate = rate
			waits := spread(10, []float64{1e5, wait}[i], 0.02)
			f := results.Figure{Unit: results.Nanoseconds}
			for _, v := range waits {
				f.Values = append(f.Values, &v)
			}
			f.Value, f.Low, f.High = summary(waits)
			b.Cells[i].Figures["acquire.p50"] = f
		}
		return b
	}
	for rate, want := range map[float64]results.CompareVerdict{0: results.ComparePass, 500: results.CompareSlower} {
		if c := CompareBenches(bench(rate, 1e5), bench(rate, 1.3e5), CompareOptions{}); c.Verdict != want {
			t.Errorf("rate %v: %s, want %s: %+v", rate, c.Verdict, want, c.Rows)
		}
	}
}

// TestAFileIsEqualToItself: comparing a bench with itself passes, however few repetitions it has.
func TestAFileIsEqualToItself(t *testing.T) {
	few := aBench(aCell(bareName, true, 10, 11), aCell("token", false, 9, 8))
	loud := aBench(aCell(bareName, true, spread(10, 1000, 0.1)...), aCell("token", false, spread(10, 900, 1.5)...))
	for _, b := range []results.Bench{few, loud} {
		if c := CompareBenches(b, b, CompareOptions{}); c.Verdict != results.ComparePass {
			t.Errorf("%+v", c)
		}
	}
}

// TestFewFalseAlarms: of a thousand comparisons of unchanged locks, with a tenth of noise, hardly
// any reports slower.
func TestFewFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	alarms := 0
	for range 1000 {
		a := aBench(aCell(bareName, true, noisy(rng, 10, 1000, 0.1)...), aCell("token", false, noisy(rng, 10, 900, 0.1)...))
		b := aBench(aCell(bareName, true, noisy(rng, 10, 1000, 0.1)...), aCell("token", false, noisy(rng, 10, 900, 0.1)...))
		if c := CompareBenches(a, b, CompareOptions{}); c.Verdict == results.CompareSlower {
			alarms++
		}
	}
	if alarms > 10 {
		t.Errorf("%d alarms, want at most a hundredth", alarms)
	}
}

// TestNoSlowdownIsMissedSilently: of a thousand comparisons with a lock that takes a fifth longer,
// at any noise, hardly any passes. The others report slower, or that the noise could hide it.
func TestNoSlowdownIsMissedSilently(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	outcomes := map[results.CompareVerdict]int{}
	for range 1000 {
		noise := 0.3 * rng.Float64()
		a := aBench(aCell(bareName, true, noisy(rng, 20, 1000, noise)...), aCell("token", false, noisy(rng, 20, 900, noise)...))
		b := aBench(aCell(bareName, true, noisy(rng, 20, 1000, noise)...), aCell("token", false, noisy(rng, 20, 720, noise)...))
		outcomes[CompareBenches(a, b, CompareOptions{}).Verdict]++
	}
	if outcomes[results.ComparePass] > 25 || outcomes[results.CompareSlower] < 300 {
		t.Errorf("%v", outcomes)
	}
}

// TestShiftHoldsTheFactor: the bounds enclose the true factor about nine times in ten, and narrow
// with the number of samples.
func TestShiftHoldsTheFactor(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	enclosed, wide, narrow := 0, 0.0, 0.0
	for range 1000 {
		low, high, ok := shift(noisy(rng, 10, 100, 0.1), noisy(rng, 10, 125, 0.1))
		if !ok {
			t.Fatal("no bounds of ten and ten")
		}
		if low <= 1.25 && 1.25 <= high {
			enclosed++
		}
		wide += high - low
		low, high, _ = shift(noisy(rng, 40, 100, 0.1), noisy(rng, 40, 125, 0.1))
		narrow += high - low
	}
	if enclosed < 870 || enclosed > 930 || narrow > 0.6*wide {
		t.Errorf("enclosed %d times of 1000, of width %.3f and %.3f", enclosed, wide/1000, narrow/1000)
	}
	if _, _, ok := shift([]float64{1, 2}, []float64{1, 2}); ok {
		t.Error("two samples on each side give bounds")
	}
	if _, _, ok := shift([]float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 0, 5, 6}); ok {
		t.Error("a value of 0 has a ratio")
	}
}
