package latency

import (
	"errors"
	"fmt"
	"io"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// millisecond is the unit of .hgrm files and of the log's maximum column.
const millisecond = 1e6

// String returns the tag in the .hlog: the operation, ".service" if from the call, and ".inside" if
// inside fault windows.
func (t Tag) String() string {
	name := t.Op
	if t.Basis == Service {
		name += ".service"
	}
	if t.Place == Inside {
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
	for _, t := range s.tags() {
		h := s.series[t].Hist.Clone()
		h.SetTag(t.String())
		h.SetStartTimeMs(start.UnixMilli())
		h.SetEndTimeMs(end.UnixMilli())
		if err := log.OutputIntervalHistogram(h); err != nil {
			return fmt.Errorf("latency log: %s: %w", t, err)
		}
	}
	return nil
}

// tags returns the series in a fixed order.
func (s *Set) tags() []Tag {
	var out []Tag
	for _, op := range s.Ops() {
		for _, basis := range []Basis{Response, Service} {
			for _, place := range []Place{Outside, Inside} {
				if t := (Tag{op, basis, place}); s.series[t] != nil {
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// WriteSpectrum writes an operation's percentiles from its intended start, in milliseconds, as
// HdrHistogram plotters read them; nothing without samples.
func (s *Set) WriteSpectrum(w io.Writer, op string) error {
	all := s.Both(op, Response)
	if all == nil {
		return nil
	}
	if _, err := all.Hist.PercentilesPrint(w, 5, millisecond); err != nil {
		return fmt.Errorf("latency spectrum of %s: %w", op, err)
	}
	return nil
}
