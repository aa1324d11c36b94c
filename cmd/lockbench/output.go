package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/harness"
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

// statusLine owns stderr: lines of chatter scroll by, and on a terminal, and nowhere else, one line
// below them is redrawn in place.
type statusLine struct {
	mu   sync.Mutex // verbs, harness and signal handler all speak
	w    io.Writer
	live bool // a terminal
	wide int  // its columns; 0: not known
	text string
}

const eraseLine = "\r\x1b[K"

// show redraws the line, cut to the terminal's width: nothing would erase a second line.
func (s *statusLine) show(text string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	cut := []rune(report.Clean(text))
	if s.wide > 0 {
		cut = cut[:min(len(cut), s.wide-1)]
	}
	s.text = string(cut)
	io.WriteString(s.w, eraseLine+s.text)
}

func (s *statusLine) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text != "" {
		s.text = ""
		io.WriteString(s.w, eraseLine)
	}
}

// print prints a text above the line, escaped. Each line stays whole, for programs that search it
// and people who copy a command.
func (s *statusLine) print(text string) {
	line := strings.Join(report.Message(text), "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == "" {
		io.WriteString(s.w, line+"\n")
		return
	}
	io.WriteString(s.w, eraseLine+line+"\n"+s.text)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }

// facts joins the parts that are not empty.
func facts(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "  ")
}

// number formats a count of things; "" for none.
func number[T ~int | ~int64](n T, noun string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// runProgress returns the status line of a run, most important first, because a narrow terminal
// cuts the rest: beside the rate of grants the offered one, if there is one.
func runProgress(e harness.Experiment, p harness.Progress) string {
	elapsed, pace, now, waits := p.Phase+" "+seconds(p.Elapsed), "", "", ""
	if p.Total > 0 {
		elapsed += "/" + seconds(p.Total)
	}
	if p.Elapsed > 0 && p.Rounds > 0 {
		pace = fmt.Sprintf("%.0f/s", float64(p.Rounds)/p.Elapsed.Seconds())
		if e.Scenario.Rate > 0 {
			pace = fmt.Sprintf("%s of %g/s", strings.TrimSuffix(pace, "/s"), e.Scenario.Rate)
		}
	}
	if p.Current != "" {
		now = "now: " + p.Current
	}
	if p.P99 > 0 {
		waits = "p50 " + report.Span(p.P50) + " p99 " + report.Span(p.P99)
	}
	granted := number(p.Rounds, "granted")
	if p.Rounds > 0 && p.Expected > 0 {
		granted = fmt.Sprintf("%d/%d granted", p.Rounds, p.Expected)
	}
	return facts(elapsed, pace, number(p.Overlaps, "overlapping uses"), now, waits, granted, number(p.Refused, "refused"), number(p.Failed, "failed"),
		number(p.Unknown, "unknown"), number(p.Faults, "faults"), e.Variant.Name+" × "+e.Scenario.Name)
}
