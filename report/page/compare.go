package page

import (
	"fmt"
	"io"
	"math"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
)

// comparisonView is what the template of a comparison shows.
type comparisonView struct {
	results.Comparison
	Headline       string
	Class          checker.Result   // the verdict that it comes to
	Told, OneSided []results.Change // of what both sides have; of what one has alone
	Rows           []changeRow
	Edge           float64 // change at the edges of the chart, as a share
	Lower, Upper   float64 // of the threshold's lines, in pixels
}

// changeRow is a gated figure: its change is a bar from the middle of a chart of 200 × 16 pixels.
type changeRow struct {
	results.ComparisonRow
	Left, Width float64 // of the bar, in pixels
	Outside     bool    // the bar ends at the edge, and the change is larger
}

// The width of a bar's chart, in pixels, and the most by which its edges stand for, as a share.
const (
	barRoom = 200.0
	farEdge = 1.0
)

// Comparison writes the page of a comparison.
func Comparison(w io.Writer, c results.Comparison) error {
	v := newComparison(report.Clean(c))
	return write(w, fmt.Sprintf("%s compared: %s", c.Kind, v.Headline), "compare", v, data{})
}

// newComparison shows what changed, first of verdicts, then of figures, each with its change as a
// bar.
func newComparison(c results.Comparison) *comparisonView {
	v := &comparisonView{Comparison: c, Edge: 2 * c.Threshold}
	v.Headline, v.Class = report.ComparisonHeadline(c)
	for _, r := range c.Rows {
		if r.Gated && r.Delta != nil {
			v.Edge = min(max(v.Edge, math.Abs(*r.Delta)), max(farEdge, 2*c.Threshold))
		}
	}
	for _, x := range c.Changes {
		if x.Change == results.Added || x.Change == results.Gone {
			v.OneSided = append(v.OneSided, x)
		} else {
			v.Told = append(v.Told, x)
		}
	}
	at := func(share float64) float64 { return math.Round(barRoom/2*(1+min(max(share/v.Edge, -1), 1))*10) / 10 }
	v.Lower, v.Upper = at(-c.Threshold), at(c.Threshold)
	for _, r := range c.Rows {
		if !r.Gated {
			continue
		}
		row := changeRow{ComparisonRow: r}
		if r.Delta != nil {
			from, to := min(at(0), at(*r.Delta)), max(at(0), at(*r.Delta))
			row.Left, row.Width, row.Outside = from, max(to-from, 1), math.Abs(*r.Delta) > v.Edge
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}
