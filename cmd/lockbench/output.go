package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range wrapLast(rows) {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			fmt.Fprint(w, foreign.Text(cell))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// wrapLast continues the last cell of each row in rows of their own, under it.
func wrapLast(rows [][]string) [][]string {
	width := []int{}
	for _, row := range rows {
		for i, cell := range row[:max(0, len(row)-1)] {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(cell)+2)
		}
	}
	var out [][]string
	for _, row := range rows {
		if len(row) == 0 {
			out = append(out, row)
			continue
		}
		last, left := len(row)-1, columns
		for _, w := range width[:last] {
			left -= w
		}
		for i, line := range report.Wrap(max(left, 20), "", row[last]) {
			next := slices.Concat(row[:last], []string{line})
			if i > 0 {
				next = append(make([]string, last), line)
			}
			out = append(out, next)
		}
	}
	return out
}
