package subject

import (
	"errors"
	"math"
	"testing"

	"github.com/lockbench/lockbench/impls"
)

// FuzzReply: a line of a child is rejected, or has an outcome that a lock can have.
func FuzzReply(f *testing.F) {
	f.Add([]byte(`{"id":1,"ok":true,"fence":7}`))
	f.Add([]byte(`{"id":1,"error":"busy","text":"held"}`))
	f.Add([]byte(`{"id":1,"error":"\u001b[2J"}`))
	f.Add([]byte(`{"lost":"job"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := decodeReply(line)
		if err != nil || r.Lost != "" || r.Renewed != "" {
			return
		}
		known := r.Error == ""
		for _, e := range errorWords {
			known = known || errors.Is(r.outcome("acquire"), e.err)
		}
		if !known || r.Error != "" && r.Error != "busy" && errors.Is(r.outcome("acquire"), impls.ErrBusy) {
			t.Errorf("%s: %v", line, r.outcome("acquire"))
		}
	})
}

// TestDurationsOfAnyNumber: a child may say any number.
func TestDurationsOfAnyNumber(t *testing.T) {
	for ms, want := range map[float64]bool{1e308: true, 1e15: true, -1e308: false, 250: true, -250: false} {
		if got := duration(ms); (got > 0) != want || got == math.MinInt64 {
			t.Errorf("%v ms are %v", ms, got)
		}
	}
}
