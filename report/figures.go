package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/results"
)

// count groups an integer's digits: 48,213.
func count[T ~int | ~int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if text[0] == '-' {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// Span shows nanoseconds with three digits: 850µs, 3.14ms, 2.02s.
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

// digits shows a figure with three digits, and no fewer than it has before the point.
func digits(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100 || a == math.Trunc(a):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// instant shows a time on the run's base, to the millisecond.
func instant(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// percent shows a share of one.
func percent(v float64) string {
	switch {
	case v == 0, v >= 0.995:
		return strconv.FormatFloat(v*100, 'f', 0, 64) + " %"
	case v < 0.0001:
		return small(v*100) + " %"
	}
	return strconv.FormatFloat(v*100, 'g', 2, 64) + " %"
}

// small shows a probability: 0.12, 6.2e-5.
func small(v float64) string {
	text := strconv.FormatFloat(v, 'g', 2, 64)
	return strings.NewReplacer("e-0", "e-", "e+0", "e+").Replace(text)
}

// rate shows so many per second.
func rate(v float64) string {
	if v >= 100 {
		return count(int64(math.Round(v))) + "/s"
	}
	return digits(math.Round(v*100)/100) + "/s"
}

// plural puts a number before a noun.
func plural[T ~int | ~int64](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if strings.HasSuffix(noun, "ry") {
		return count(n) + " " + strings.TrimSuffix(noun, "y") + "ies"
	}
	return fmt.Sprintf("%s %ss", count(n), noun)
}

// Count groups an integer's digits: 48,213. What is no integer is shown as it is.
func Count(n any) string {
	switch v := n.(type) {
	case int:
		return count(v)
	case int64:
		return count(v)
	}
	return fmt.Sprint(n)
}

// Percent shows a share of one.
func Percent(v float64) string { return percent(v) }

// Instant shows a time on the run's base, to the millisecond.
func Instant(ns int64) string { return instant(ns) }

// Headline is the long form of a verdict.
func Headline(v checker.Result) string { return headline(v) }

// Failure says how often a property was broken, of how many opportunities, and by what.
func Failure(p checker.Property) string { return failure(p) }

// Clean is a deep copy of a record in which every text can be seen: control characters and marks that turn text are shown as escapes.
func Clean[T any](v T) T { return clean(v) }

// Plural puts a number before a noun: 1 hand-over, 2 hand-overs.
func Plural[T ~int | ~int64](n T, noun string) string { return plural(n, noun) }

// SuiteSummary says how many cells of a suite are as expected.
func SuiteSummary(s results.Suite) string { return suiteSummary(s) }

// Causes lists causes by how often they were found.
func Causes(all map[history.Cause]int) string { return causes(all) }

// DamageText says what the guarded store lost; "" for nothing.
func DamageText(d *checker.Damage) string { return damage(d) }

// Rate shows so many per second.
func Rate(v float64) string { return rate(v) }
