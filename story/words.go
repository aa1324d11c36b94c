package story

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/plain"
	"github.com/lockbench/lockbench/verdicts"
)

const (
	milli  int64 = 1_000_000
	second int64 = 1000 * milli
)

// ms returns an instant in words, from the story's base.
func (t *teller) ms(at int64) string { return span(at - t.base) }

// span returns a length of time: whole milliseconds, with a decimal where that would hide it, seconds where it is long.
func span(ns int64) string {
	switch abs := max(ns, -ns); {
	case abs >= 10*second:
		return strconv.FormatFloat(float64(ns)/float64(second), 'f', 1, 64) + " s"
	case abs >= 10*milli || ns%milli == 0:
		return strconv.FormatInt((ns+milli/2)/milli, 10) + " ms"
	case abs >= milli/10:
		return strconv.FormatFloat(float64(ns)/float64(milli), 'f', 1, 64) + " ms"
	}
	return strconv.FormatFloat(float64(ns)/1000, 'f', 0, 64) + " us"
}

// headline says what was broken, by and for whom, and the cause.
func (t *teller) headline() string {
	v, who := t.v, t.who()
	lasted := ""
	if v.Lasted > 0 {
		lasted = " for " + span(v.Lasted)
	}
	wronged := "a client"
	if len(v.Clients) > 0 {
		wronged = plain.Text(v.Clients[0])
	}
	what := map[verdicts.Property]string{
		verdicts.MutualExclusion: fmt.Sprintf("%s both held %q%s", who, v.Key, lasted),
		verdicts.ExclusiveUse:    fmt.Sprintf("%s were both inside the critical section of %q%s", who, v.Key, lasted),
		verdicts.StoreIntegrity:  fmt.Sprintf("what %q guards was damaged by %s", v.Key, who),
		verdicts.ReleaseSafety:   fmt.Sprintf("the hold of %s on %q was ended or changed by another", wronged, v.Key),
		verdicts.Linearizability: fmt.Sprintf("no order of the operations on %q explains what was told to %s", v.Key, who),
		verdicts.FencingOrder:    fmt.Sprintf("the fence of %q did not grow from one grant to the next", v.Key),
		verdicts.Progress:        fmt.Sprintf("%s could not get %q%s though nobody held it", who, v.Key, lasted),
		verdicts.Refusal:         fmt.Sprintf("%s was told that %q is busy when nobody can have held it", who, v.Key),
		verdicts.Reentrancy:      fmt.Sprintf("%s re-entered %q wrongly", who, v.Key),
		verdicts.Renewal:         fmt.Sprintf("the renewal of %q by %s went wrong", v.Key, who),
		verdicts.Fairness:        fmt.Sprintf("of %s the second overtook the first in the queue for %q", who, v.Key),
		verdicts.Hygiene:         fmt.Sprintf("%q was left behind after everybody was done", v.Key),
	}[v.Property]
	return fmt.Sprintf("%s broken: %s (%s)", v.Property, what, v.Cause)
}

func (t *teller) who() string {
	names := make([]string, len(t.v.Clients))
	for i, c := range t.v.Clients {
		names[i] = plain.Text(c)
	}
	switch n := len(names); {
	case n == 0:
		return "a client"
	case n > 3:
		return fmt.Sprintf("%s and %d others", names[0], n-1)
	case n > 1:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// fault returns a fault window in words.
func (t *teller) fault(w *history.Window) string {
	whom := plain.Text(w.Client)
	if whom == "" {
		whom = fmt.Sprintf("node %d", w.Node)
		if w.Node < 0 {
			whom = "the network"
		}
	}
	seen := "measured"
	if !w.Confirmed {
		seen = "not seen to take"
	}
	what := struck[w.Fault]
	if what == "" {
		what = "met " + plain.Text(w.Fault)
	}
	return fmt.Sprintf("%s %s %s (%s, %s)%s", whom, what, t.when(w), plain.Text(w.Fault), seen, effects(w))
}

// struck says of faults what happened to those whom they were done to.
var struck = map[string]string{
	faults.PauseClient: "was paused", faults.CrashClient: "crashed", faults.SkewClient: "had a clock that was off", faults.LoseReply: "lost a reply",
	faults.KillServer: "was killed and away", faults.PauseServer: "stood still", faults.Failover: "was lost and its replica promoted",
	faults.JumpClock: "had its clock set", faults.DriftClock: "counted time at another rate", faults.DeleteKey: "had the key deleted by somebody",
	faults.EvictKeys: "ran out of memory",
}

// effects says what a fault did to the data or the clock of a node.
func effects(w *history.Window) string {
	if len(w.Effects) == 0 {
		return ""
	}
	e := &w.Effects[0]
	text := map[string]string{history.Restarted: "it came back", history.Promoted: "its replica took over", history.ClockSet: "its clock was set by " + span(e.By),
		history.ClockRate: "its clock ran at another rate", history.Deleted: "keys were deleted", history.Evicted: "keys were evicted"}[e.What]
	switch {
	case len(e.Lost) > 0 && (e.What == history.Restarted || e.What == history.Promoted):
		text += " without " + keys(e.Lost)
	case len(e.Lost) > 0:
		text += ": " + keys(e.Lost)
	case len(e.Kept) > 0:
		text += " with " + keys(e.Kept)
	}
	return ": " + text
}

func keys(names []string) string {
	text := shortened(names[0])
	if n := len(names) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func (t *teller) when(w *history.Window) string {
	switch {
	case w.Start < t.base && (w.End == 0 || w.End > t.to):
		return "throughout"
	case w.End == w.Start:
		return "at " + t.ms(w.Start)
	case w.End == 0:
		return "from " + t.ms(w.Start) + " on"
	}
	return fmt.Sprintf("from %s to %s", t.ms(w.Start), t.ms(w.End))
}

// command shows a command and its reply as they were recorded.
func command(c *history.Command) string {
	const mostArgs = 8
	words := []string{plain.Text(c.Name)}
	for i, arg := range c.Args {
		if i == mostArgs {
			words = append(words, "...")
			break
		}
		words = append(words, shortened(arg))
	}
	reply := "no reply"
	if c.Replied != 0 {
		reply = shortened(c.Reply)
	}
	return strings.Join(words, " ") + " -> " + reply
}

// shortened shows a recorded word: quoted where it would not be one word, and cut at its end where nobody reads on.
func shortened(word string) string {
	const most = 24
	end := ""
	if r := []rune(word); len(r) > most {
		word, end = string(r[:most-3]), "..."
	}
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
		word = strconv.Quote(word)
	}
	return word + end
}
