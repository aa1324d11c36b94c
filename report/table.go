package report

import (
	"strings"
	"unicode/utf8"
)

// Table has figures in columns: the first is a name, the others stand to the right. A row of two
// cells has a text in place of figures.
type Table struct {
	Heads []string
	Rows  [][]string
}

// text returns the lines of a table for a terminal. A head that is longer than all names has a line
// of its own.
func (t Table) text(s Style) (lines []string) {
	heads := append([]string{}, t.Heads...)
	widths := make([]int, len(heads))
	for i, row := range append([][]string{heads}, t.Rows...) {
		for j, cell := range row {
			if (i > 0 || j > 0) && (j == 0 || len(row) > 2) {
				widths[j] = max(widths[j], utf8.RuneCountInString(cell))
			}
		}
	}
	if utf8.RuneCountInString(heads[0]) > max(widths[0], lockColumn) {
		lines, heads[0] = []string{s.paint(bold, heads[0])}, ""
	}
	widths[0] = max(widths[0], utf8.RuneCountInString(heads[0]))
	line := func(row []string) string {
		text := padded(row[0], widths[0])
		for j, cell := range row[1:] {
			if len(row) == 2 && len(heads) > 2 {
				return text + "  " + Short(cell, screen-widths[0]-2)
			}
			text += strings.Repeat(" ", 2+widths[j+1]-utf8.RuneCountInString(cell)) + cell
		}
		return text
	}
	lines = append(lines, s.paint(bold, line(heads)))
	for _, row := range t.Rows {
		lines = append(lines, line(row))
	}
	return lines
}

// padded fills a text with spaces to a width.
func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// markdown returns the lines of a table in Markdown.
func (t Table) markdown() []string {
	lines := []string{mdRow(t.Heads...), "|---" + strings.Repeat("|--:", len(t.Heads)-1) + "|"}
	for _, row := range t.Rows {
		lines = append(lines, mdRow(append(row, make([]string, len(t.Heads)-len(row))...)...))
	}
	return lines
}
