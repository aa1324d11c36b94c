package checker

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// TestIDs: an id that a file gives names one operation. Ids need not ascend or be dense; an operation without an id has its position for one, whoever else
// was given that.
func TestIDs(t *testing.T) {
	const far = 1 << 20 // ids that are equal by remainder
	rows := []struct {
		about string
		ids   []uint64
		twice string // what is said; "" = nothing
	}{
		{"positions", []uint64{1, 2, 3}, ""},
		{"in another order", []uint64{1, 4, 2, 3}, ""},
		{"none", []uint64{0, 0, 0}, ""},
		{"from zero, which is none", []uint64{0, 1, 2, 3}, ""},
		{"the position of one without", []uint64{3, 2, 0}, ""},
		{"equal by remainder", []uint64{far, 2 * far, 3 * far, 64, 128}, ""},
		{"the largest", []uint64{1<<64 - 1, 1<<64 - 2}, ""},
		{"two neighbours", []uint64{1, 1}, "h:3: the id 1 is that of line 2 too"},
		{"the last and the first", []uint64{1, 2, 3, 1}, "h:5: the id 1 is that of line 2 too"},
		{"after one without", []uint64{0, 9, 8, 9}, "h:5: the id 9 is that of line 3 too"},
		{"among others equal by remainder", []uint64{far, 2 * far, 3 * far, 2 * far}, "h:5: the id 2097152 is that of line 3 too"},
		{"the largest twice", []uint64{1<<64 - 1, 5, 1<<64 - 1}, "h:4: the id 18446744073709551615 is that of line 2 too"},
	}
	for _, r := range rows {
		t.Run(r.about, func(t *testing.T) {
			text := `{"schema":"lockbench/history/v1","kind":"mutex"}` + "\n"
			for i, id := range r.ids {
				text += fmt.Sprintf(`{"id":%d,"client":"c%d","op":"acquire","key":"k","call":%d,"return":%d,"outcome":"busy"}`+"\n", id, i, i, i)
			}
			in, err := history.NewReader(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			_, err = load(t.Context(), Input{Header: in.Header(), Ops: in, File: "h"})
			if r.twice == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !errors.Is(err, errAssumption) || !strings.Contains(err.Error(), r.twice) {
				t.Errorf("got %v, want %q", err, r.twice)
			}
		})
	}
}

// BenchmarkIDs looks for a repeated id among 10 million, in the order of the returns of 64 clients.
func BenchmarkIDs(b *testing.B) {
	var s ids
	for i := range uint32(10_000_000) {
		s.add(i+1, &history.Operation{ID: uint64(i ^ 63)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, second := s.repeated(); second != 0 {
			b.Fatal(second)
		}
	}
}
