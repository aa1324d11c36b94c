package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
)

// Count formats an integer with commas: 48,213.
func Count(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Span formats nanoseconds with three digits: 850µs, 3.14ms, 2.02s.
func Span[T ~int64](ns T) string {
	v, unit := float64(ns), "ns"
	for _, next := range []struct {
		size float64
		unit string
	}{{float64(time.Microsecond), "µs"}, {float64(time.Millisecond), "ms"}, {float64(time.Second), "s"}} {
		if math.Abs(float64(ns)) >= next.size {
			v, unit = float64(ns)/next.size, next.unit
		}
	}
	return digits(v) + unit
}

// digits formats a number with three significant digits, or more before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || a == math.Trunc(a):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// Instant formats a time on the run's base, to the millisecond.
func Instant(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// Percent formats a share: 0.5 is "50 %".
func Percent(v float64) string {
	switch {
	case v == 0, v >= 0.995:
		return strconv.FormatFloat(v*100, 'f', 0, 64) + " %"
	case v < 0.0001:
		return small(v*100) + " %"
	}
	return strconv.FormatFloat(v*100, 'g', 2, 64) + " %"
}

// small formats a probability: 0.12, 6.2e-5.
func small(v float64) string {
	text := strconv.FormatFloat(v, 'g', 2, 64)
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
}

// Rate formats a number per second.
func Rate(v float64) string { return Quantity(&v, results.PerSecond) }

// Quantity formats a value in a metric's unit, a rate with "/s"; "–" for nil.
func Quantity(v *float64, unit results.Unit) string {
	if v != nil && unit == results.PerSecond {
		return value(v, unit) + "/s"
	}
	return value(v, unit)
}

// value is Quantity without the "/s", for columns whose head says it.
func value(v *float64, unit results.Unit) string {
	switch {
	case v == nil:
		return "–"
	case unit == results.Nanoseconds:
		return Span(int64(math.Round(*v)))
	case unit == results.Share:
		return Percent(*v)
	case *v >= 1000:
		return Count(int64(math.Round(*v)))
	}
	return digits(math.Round(*v*100) / 100)
}

// Figure formats a figure's value; "–" if there is none.
func Figure(f results.Figure) string { return value(f.Value, f.Unit) }

// Plural formats a number and a noun: 1 hand-over, 2 hand-overs.
func Plural[T ~int | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ry") {
		return Count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return fmt.Sprintf("%s %ss", Count(n), noun)
}
