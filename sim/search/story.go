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
	at   int64
	text string
	same string // consecutive lines with the same text here are one
}

// eventsUntil returns the commands with their replies, faults and entries of clients up to an
// instant, as numbered lines; repeated refusals are one.
func eventsUntil(o sim.Outcome, until int64) (out []string) {
	var lines []storyLine
	for _, c := range o.Commands {
		lines = append(lines, commandLine(c))
	}
	for _, w := range o.Windows {
		who := w.Client
		if who == "" && w.Node >= 0 {
			who = history.Node(w.Node).String()
		}
		fault := strings.TrimSpace(who + " " + w.Fault)
		lines = append(lines, storyLine{at: w.Start, text: fault})
		if w.End > w.Start {
			lines = append(lines, storyLine{at: w.End, text: fault + " is over"})
		}
	}
	for _, op := range o.Ops {
		if op.Op == history.Use {
			lines = append(lines, storyLine{at: op.Call, text: op.Client + " is inside its critical section"})
		}
	}
	lines = slices.DeleteFunc(lines, func(l storyLine) bool { return l.at > until })
	slices.SortStableFunc(lines, func(a, b storyLine) int { return int(a.at - b.at) })
	for len(lines) > 0 {
		l, times := lines[0], 1
		for times < len(lines) && l.same != "" && lines[times].same == l.same {
			times++
		}
		again := ""
		if times > 1 {
			again = fmt.Sprintf(" (%d times)", times)
		}
		out = append(out, fmt.Sprintf("%2d. %8.3f s  %s%s", len(out)+1, time.Duration(l.at).Seconds(), l.text, again))
		lines = lines[times:]
	}
	return out
}

func commandLine(c history.Command) storyLine {
	reply := c.Reply
	if c.Replied == 0 {
		reply = "no reply is seen"
	}
	args := slices.Clone(c.Args)
	for i, a := range args {
		if len(a) > 20 { // such as a token
			args[i] = a[:8] + "…"
		}
	}
	text := fmt.Sprintf("%s: %s %s = %s", c.Client, c.Name, strings.Join(args, " "), reply)
	return storyLine{at: c.Sent, text: text, same: c.Client + c.Name + reply}
}
