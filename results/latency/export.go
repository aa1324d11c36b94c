package latency

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// millisecond is the unit of .hgrm files and of the log's maximum column.
const millisecond = 1e6

// String returns the tag in the .hlog: the operation, ".service" if from the call, and ".inside" if
// inside fault windows.
func (t Tag) String() string {
	name := t.Op
	if t.Service {
		name += ".service"
	}
	if t.Inside {
		name += ".inside"
	}
	return name
}

// WriteLog writes an HdrHistogram log, version 2 encoding, one tagged line per series of a run from
// start to end.
func (s *Set) WriteLog(w io.Writer, start, end time.Time) error {
	log := hdr.NewHistogramLogWriter(w)
	log.SetBaseTime(0)
	err := errors.Join(log.OutputLogFormatVersion(),
		log.OutputComment("[lockbench: nanoseconds; .service counts from the call, others from the intended start; .inside met a fault window]"),
		log.OutputStartTime(start.UnixMilli()), log.OutputLegend())
	if err != nil {
		return fmt.Errorf("latency log: %w", err)
	}
	byName := func(a, b Tag) int { return cmp.Compare(a.String(), b.String()) }
	for _, t := range slices.SortedFunc(maps.Keys(s.series), byName) {
		h := s.series[t].Clone()
		h.SetTag(t.String())
		h.SetStartTimeMs(start.UnixMilli())
		h.SetEndTimeMs(end.UnixMilli())
		if err := log.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("latency log: %s: %w", t, err)
		}
	}
	return nil
}

// WriteSpectrum writes an operation's percentiles from its intended start, in milliseconds, as
// HdrHistogram plotters read them; nothing without samples.
func (s *Set) WriteSpectrum(w io.Writer, op string) error {
	all := s.Both(op, false)
	if all == nil {
		return nil
	}
	if _, err := all.PercentilesPrint(w, 5, millisecond); err != nil {
		return fmt.Errorf("latency spectrum of %s: %w", op, err)
	}
	return nil
}

// tail is how many samples must lie above a percentile that is drawn.
const tail = 10

// Spectrum returns what a page draws of percentiles: points of 1/(1-p) and nanoseconds, up to the
// percentile with ten samples above it; none if that is below the median.
func Spectrum(h *hdr.Histogram) (points [][2]float64) {
	most := float64(h.TotalCount()) / tail
	if most < 2 {
		return nil
	}
	for _, b := range h.CumulativeDistributionWithTicks(5) {
		x := 1 / (1 - b.Quantile/100)
		if b.Quantile >= 100 || x > most {
			break
		}
		points = append(points, [2]float64{x, float64(b.ValueAt)})
	}
	return slices.CompactFunc(points, func(a, b [2]float64) bool { return a[0] == b[0] })
}
