package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/report"
)

// statusLine owns stderr: lines of chatter scroll by, and below them one line, on a terminal only, is redrawn in place. Into a
// pipe nothing is redrawn and no escape byte is written.
type statusLine struct {
	mu   sync.Mutex // verbs, harness and signal handler all speak
	w    io.Writer
	live bool // a terminal
	wide int  // its columns; 0: not known
	text string
}

const eraseLine = "\r\x1b[K"

// show redraws the line.
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

// clear erases the line.
func (s *statusLine) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text != "" {
		s.text = ""
		io.WriteString(s.w, eraseLine)
	}
}

// print prints a text above the line, wrapped on a terminal; in a pipe each line stays whole, for programs that search it. It escapes what the text
// quotes from servers, files and other processes.
func (s *statusLine) print(text string) {
	line := strings.Join(report.Message(s.wide, text), "\n")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.text == "" {
		io.WriteString(s.w, line+"\n")
		return
	}
	io.WriteString(s.w, eraseLine+line+"\n"+s.text)
}

// seconds formats a duration.
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
