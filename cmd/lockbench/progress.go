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

func (s *statusLine) show(text string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = s.fit(report.Clean(text))
	io.WriteString(s.w, eraseLine+s.text)
}

// fit cuts a line to the terminal's width: nothing would erase a second line.
func (s *statusLine) fit(text string) string {
	if cut := []rune(text); s.wide > 0 && len(cut) >= s.wide {
		return string(cut[:s.wide-1])
	}
	return text
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
// cuts the rest.
func runProgress(e harness.Experiment, p harness.Progress) string {
	parts := []string{elapsed(p), pace(e.Scenario.Rate, p), number(p.Overlaps, "overlapping uses")}
	if p.Current != "" {
		parts = append(parts, "now: "+p.Current)
	}
	if p.P99 > 0 {
		parts = append(parts, "p50 "+report.Span(p.P50)+" p99 "+report.Span(p.P99))
	}
	parts = append(parts, granted(p), number(p.Refused, "refused"), number(p.Failed, "failed"), number(p.Unknown, "unknown"), number(p.Faults, "faults"))
	return facts(append(parts, e.Variant.Name+" × "+e.Scenario.Name)...)
}

func elapsed(p harness.Progress) string {
	text := p.Phase + " " + seconds(p.Elapsed)
	if p.Total > 0 {
		text += "/" + seconds(p.Total)
	}
	return text
}

// pace formats the rate of grants, and the offered rate if there is one.
func pace(offered float64, p harness.Progress) string {
	if p.Elapsed <= 0 || p.Rounds == 0 {
		return ""
	}
	achieved := fmt.Sprintf("%.0f", float64(p.Rounds)/p.Elapsed.Seconds())
	if offered > 0 {
		return fmt.Sprintf("%s of %g/s", achieved, offered)
	}
	return achieved + "/s"
}

func granted(p harness.Progress) string {
	if p.Rounds > 0 && p.Expected > 0 {
		return fmt.Sprintf("%d/%d granted", p.Rounds, p.Expected)
	}
	return number(p.Rounds, "granted")
}
