package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/report"
)

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
