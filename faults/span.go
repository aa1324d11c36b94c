package faults

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Span is a time that may be given in leases: "250ms" or "1.5 lease".
type Span struct {
	Fixed  time.Duration
	Leases float64
}

// Of returns the duration of the span for a lease.
func (s Span) Of(lease time.Duration) time.Duration {
	return s.Fixed + time.Duration(s.Leases*float64(lease))
}

// MaxFixed is the longest span; sums with a longer one could overflow.
const MaxFixed = 10_000 * time.Hour

const maxLeases = 1e6

var durationForm = regexp.MustCompile(`^[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)$`)

// parseSpan reads "250ms", "1.5 lease", "1 lease + 20ms" or "-2 lease".
func parseSpan(text string) (Span, error) {
	var s Span
	for part := range strings.SplitSeq(text, "+") {
		part = strings.TrimSpace(part)
		if n, ok := strings.CutSuffix(part, "lease"); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(n), 64)
			if err != nil {
				return Span{}, fmt.Errorf("%q: a span in leases looks like \"1.5 lease\"", part)
			}
			s.Leases += f
			continue
		}
		d, err := time.ParseDuration(part)
		if err != nil && durationForm.MatchString(part) { // it overflows
			return Span{}, fmt.Errorf("%q: a span is at most %v", text, MaxFixed)
		}
		if err != nil {
			return Span{}, fmt.Errorf("%q: a span looks like \"250ms\", \"1.5 lease\" or \"1 lease + 20ms\"", part)
		}
		if s.Fixed += min(max(d, -2*MaxFixed), 2*MaxFixed); s.Fixed.Abs() > MaxFixed {
			return Span{}, fmt.Errorf("%q: a span is at most %v", text, MaxFixed)
		}
	}
	if math.IsNaN(s.Leases) || math.Abs(s.Leases) > maxLeases {
		return Span{}, fmt.Errorf("%q: a span is at most %g leases", text, float64(maxLeases))
	}
	return s, nil
}

// String returns the text that parseSpan reads back.
func (s Span) String() string {
	switch {
	case s.Leases == 0:
		return s.Fixed.String()
	case s.Fixed == 0:
		return strconv.FormatFloat(s.Leases, 'f', -1, 64) + " lease"
	}
	return strconv.FormatFloat(s.Leases, 'f', -1, 64) + " lease + " + s.Fixed.String()
}

// UnmarshalText reads the text form.
func (s *Span) UnmarshalText(text []byte) (err error) {
	*s, err = parseSpan(string(text))
	return err
}

// MarshalText returns the text form.
func (s Span) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
