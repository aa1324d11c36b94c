package search

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/sim"
)

type storyLine struct {
	at    int64
	text  string
	same  string // consecutive lines with the same text here are joined
	times int
}

// eventsUntil returns the commands with their replies, faults and entries of clients up to an instant, as
// numbered lines; repeated refusals are one.
func eventsUntil(o sim.Outcome, until int64) []string {
	var lines []storyLine
	for _, c := range o.Commands {
		lines = append(lines, commandLine(c))
	}
	for _, w := range o.Windows {
		lines = append(lines, windowLines(w)...)
	}
	for _, op := range o.Ops {
		if op.Op == history.Use {
			lines = append(lines, storyLine{at: op.Call, text: op.Client + " is inside its critical section"})
		}
	}
	lines = slices.DeleteFunc(lines, func(l storyLine) bool { return l.at > until })
	slices.SortStableFunc(lines, func(a, b storyLine) int { return int(a.at - b.at) })
	return numbered(joined(lines))
}

func commandLine(c history.Command) storyLine {
	reply := c.Reply
	if c.Replied == 0 {
		reply = "no reply is seen"
	}
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = short(a)
	}
	text := fmt.Sprintf("%s: %s %s = %s", c.Client, c.Name, strings.Join(args, " "), reply)
	return storyLine{at: c.Sent, text: text, same: c.Client + c.Name + reply}
}

// short truncates long words such as tokens.
func short(s string) string {
	if len(s) > 20 {
		return s[:8] + "…"
	}
	return s
}

func windowLines(w history.Window) []storyLine {
	who := w.Client
	if who == "" && w.Node >= 0 {
		who = history.Node(w.Node).String()
	}
	begin := storyLine{at: w.Start, text: strings.TrimSpace(who + " " + w.Fault)}
	if w.End <= w.Start {
		return []storyLine{begin}
	}
	return []storyLine{begin, {at: w.End, text: strings.TrimSpace(who+" "+w.Fault) + " is over"}}
}

func joined(lines []storyLine) []storyLine {
	var out []storyLine
	for _, l := range lines {
		l.times = 1
		if last := len(out) - 1; last >= 0 && l.same != "" && out[last].same == l.same {
			out[last].times++
			continue
		}
		out = append(out, l)
	}
	return out
}

func numbered(lines []storyLine) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		again := ""
		if l.times > 1 {
			again = fmt.Sprintf(" (%d times)", l.times)
		}
		out[i] = fmt.Sprintf("%2d. %8.3f s  %s%s", i+1, time.Duration(l.at).Seconds(), l.text, again)
	}
	return out
}
