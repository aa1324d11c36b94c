package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/report"
)

// show puts a result on stdout, as JSON or in the form for people.
func show[T any](a *app, v T, text func(io.Writer, T, report.Style) error) error {
	if a.json() {
		return a.writeJSON(v)
	}
	return text(a.out, v, a.style())
}

func (a *app) writeJSON(v any) error { return writeJSON(a.out, v, " ") }

// writeLine puts a value on stdout as one line.
func (a *app) writeLine(v any) error { return writeJSON(a.out, v, "") }

// writeJSON writes a value indented, or, with no indent, as one line.
func writeJSON(w io.Writer, v any, indent string) error {
	data, err := json.MarshalIndent(v, "", indent)
	if indent == "" {
		data, err = json.Marshal(v)
	}
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	_, err = w.Write(append(foreign.JSON(data), '\n'))
	return err
}

// columns is the width that tables keep to.
const columns = 80

// table puts aligned columns on stdout, a row for each slice. The last column is wrapped so that a
// line keeps to [columns].
func (a *app) table(rows ...[]string) error { return aligned(a.out, rows) }

func aligned(out io.Writer, rows [][]string) error {
	width := []int{}
	for _, row := range rows {
		for i, cell := range row[:max(0, len(row)-1)] {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell)+2)
		}
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if len(row) == 0 {
			fmt.Fprintln(w)
			continue
		}
		last, left := len(row)-1, columns
		for _, n := range width[:last] {
			left -= n
		}
		for i, line := range report.Wrap(max(left, 20), "", row[last]) {
			for _, cell := range row[:last] {
				if i > 0 { // a continuation stands under the last cell alone
					cell = ""
				}
				fmt.Fprint(w, foreign.Text(cell), "\t")
			}
			fmt.Fprintln(w, foreign.Text(line))
		}
	}
	return w.Flush()
}
