package story

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/explain"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/plain"
	"github.com/lockbench/lockbench/verdicts"
)

const (
	milli  int64 = 1_000_000
	second int64 = 1000 * milli
)

// timeBase returns the line that relates the story's times to those of the run.
func (t *narrator) timeBase() string {
	return fmt.Sprintf("times count from %.3f s into the run", float64(t.base)/float64(second))
}

// ms formats an instant as the time since the start of the story.
func (t *narrator) ms(at int64) string { return span(at - t.base) }

// span formats a length of time: in milliseconds, with a decimal or in smaller units if it is short, in seconds if it is long. Only 0 is shown as 0.
func span(ns int64) string {
	switch abs := max(ns, -ns); {
	case abs >= 10*second:
		return strconv.FormatFloat(float64(ns)/float64(second), 'f', 1, 64) + " s"
	case abs >= 10*milli || ns%milli == 0:
		return strconv.FormatInt((ns+milli/2)/milli, 10) + " ms"
	case abs >= milli/10:
		return strconv.FormatFloat(float64(ns)/float64(milli), 'f', 1, 64) + " ms"
	case abs < 1000:
		return strconv.FormatInt(ns, 10) + " ns"
	}
	return strconv.FormatFloat(float64(ns)/1000, 'f', 0, 64) + " us"
}

// headline returns the violated property, the clients involved, and the cause.
func (t *narrator) headline() string {
	v, who, key := t.v, t.who(), quoted(t.v.Key)
	lasted := ""
	switch {
	case t.endless():
		lasted = " with no end"
	case v.Lasted > 0:
		lasted = " for " + span(v.Lasted)
	}
	wronged := "a client"
	if len(v.Clients) > 0 {
		wronged = shortened(v.Clients[0])
	}
	what := map[verdicts.Property]string{
		verdicts.MutualExclusion: fmt.Sprintf("%s %s held %s%s", who, together(v.Clients), key, lasted),
		verdicts.ExclusiveUse:    fmt.Sprintf("%s were %s inside the critical section of %s%s", who, together(v.Clients), key, lasted),
		verdicts.StoreIntegrity:  fmt.Sprintf("the data guarded by %s was damaged by %s", key, who),
		verdicts.ReleaseSafety:   fmt.Sprintf("the hold of %s on %s was ended or changed by another", wronged, key),
		verdicts.Linearizability: fmt.Sprintf("no order of the operations on %s explains the replies to %s", key, who),
		verdicts.FencingOrder:    fmt.Sprintf("the fence of %s did not grow from one grant to the next", key),
		verdicts.Progress:        fmt.Sprintf("%s could not get %s%s though nobody held it", who, key, lasted),
		verdicts.Refusal:         fmt.Sprintf("%s was refused %s as busy when nobody can have held it", who, key),
		verdicts.Reentrancy:      fmt.Sprintf("the nested holds of %s on %s went wrong", who, key),
		verdicts.Renewal:         fmt.Sprintf("the renewal of %s by %s went wrong", key, who),
		verdicts.Fairness:        fmt.Sprintf("of %s the second overtook the first in the queue for %s", who, key),
		verdicts.Hygiene:         fmt.Sprintf("%s was left behind after all clients had finished", key),
	}[v.Property]
	if x := t.renewed(); x != nil && v.Property == verdicts.ReleaseSafety {
		what = fmt.Sprintf("%s was told that it had renewed its hold on %s, which had ended", shortened(x.Client), key)
	}
	return fmt.Sprintf("%s broken: %s (%s)", v.Property, what, v.Cause)
}

// renewed returns the extend that was accepted at the instant of the violation, by the last client that it names, if the answer does not rest on what it
// did to another's hold; nil: none.
func (t *narrator) renewed() *history.Operation {
	for _, op := range t.v.Witness.All() {
		if op.Op == history.Extend && op.Outcome == history.OK && op.Call <= t.v.At && t.v.At <= op.Return && len(t.v.Clients) > 0 &&
			op.Client == t.v.Clients[len(t.v.Clients)-1] && t.v.Cause != verdicts.MisUnlock && t.v.Cause != verdicts.ReaderEvicted {
			return &op
		}
	}
	return nil
}

func together(clients []string) string {
	if len(clients) > 2 {
		return "all"
	}
	return "both"
}

func (t *narrator) who() string {
	names := make([]string, len(t.v.Clients))
	for i, c := range t.v.Clients {
		names[i] = shortened(c)
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

// fault describes a fault window: what it hit, what it did, and when.
func (t *narrator) fault(w *history.Window) string {
	whom := "the network"
	kind, _ := faults.FindKind(w.Fault)
	switch {
	case w.Client != "":
		whom = shortened(w.Client)
	case w.Node >= 0:
		whom = fmt.Sprintf("node %d", w.Node)
	case kind.In == faults.InServer:
		whom = "the server"
	case kind.In == faults.InClient:
		whom = "every client"
	}
	seen := "measured"
	if !w.Confirmed {
		seen = "not confirmed"
	}
	what := faultVerbs[w.Fault]
	if what == "" {
		what = "was hit by " + shortened(w.Fault)
	}
	return fmt.Sprintf("%s %s %s (%s, %s)%s", whom, what, t.when(w), shortened(w.Fault), seen, t.effects(w))
}

// faultVerbs describes what each fault did to the client or node that it hit.
var faultVerbs = map[string]string{
	faults.PauseClient: "was paused", faults.CrashClient: "crashed", faults.SkewClient: "had a wrong clock", faults.SlowWork: "worked for longer",
	faults.CancelClient: "had its call cancelled", faults.CollideOwners: "had the owner id of another client", faults.BlackholeClient: "was cut off from all nodes",
	faults.LoseRequest: "lost a request", faults.LoseReply: "lost a reply", faults.DelayRequest: "had a request delayed", faults.DelayReply: "had a reply delayed",
	faults.SlowNetwork: "was slow", faults.PartitionNodes: "was cut off from all clients", faults.CutPubSub: "had its subscriptions cut",
	faults.KillServer: "was killed and down", faults.PauseServer: "was paused", faults.Failover: "was killed and its replica promoted",
	faults.JumpClock: "had its clock set", faults.DriftClock: "had a clock that ran at a wrong rate", faults.DeleteKey: "had its keys deleted by an operator",
	faults.EvictKeys: "ran out of memory", faults.FlushScripts: "lost all scripts",
}

// effects describes what a fault did to the data or the clock of a node: as the replay found if the answer names it, otherwise as measured.
func (t *narrator) effects(w *history.Window) string {
	if len(w.Effects) == 0 {
		return ""
	}
	e, lost := &w.Effects[0], w.Effects[0].Lost
	if found := t.did(w); found != nil {
		e, lost = found.Effect, found.Lost
	}
	text := map[string]string{history.Restarted: "it came back", history.Promoted: "its replica took over", history.ClockSet: "its clock was set by " + span(e.By),
		history.ClockRate: "its clock ran at a wrong rate", history.Deleted: "keys were deleted", history.Evicted: "keys were evicted"}[e.What]
	switch {
	case len(lost) > 0 && (e.What == history.Restarted || e.What == history.Promoted):
		text += " without " + keys(lost)
	case len(lost) > 0:
		text += ": " + keys(lost)
	case len(e.Kept) > 0:
		text += " with " + keys(e.Kept)
	}
	return ": " + text
}

func keys(names []string) string {
	text := quoted(names[0])
	if n := len(names) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func (t *narrator) when(w *history.Window) string {
	switch {
	case w.Start < t.base && (w.End == 0 || w.End > t.to):
		return "throughout"
	case w.Start < t.base:
		return "until " + t.ms(w.End)
	case w.End == w.Start || w.Fault == faults.CrashClient && w.Start >= t.base:
		return "at " + t.ms(w.Start)
	case w.End == 0:
		return "from " + t.ms(w.Start) + " on"
	}
	return fmt.Sprintf("from %s to %s", t.ms(w.Start), t.ms(w.End))
}

// command formats a command and its reply as recorded.
func command(c *history.Command) string {
	const mostArgs = 8
	words := []string{shortened(c.Name)}
	for i, arg := range c.Args {
		if i == mostArgs {
			words = append(words, "...")
			break
		}
		words = append(words, shortened(arg))
	}
	reply := "no reply"
	if c.Replied != 0 {
		reply = cut(c.Reply, mostOfReply)
	}
	return strings.Join(words, " ") + " -> " + reply
}

// mostOfWord is the most characters of a recorded word that are shown; a longer word is cut at its end.
const mostOfWord = 32

// shortened returns a recorded word, quoted if it is long, unprintable or would not read as one word.
func shortened(word string) string {
	if word != "" && plain.Text(word) == word && !strings.ContainsAny(word, ` "`) && utf8.RuneCountInString(word) <= mostOfWord {
		return word
	}
	return quoted(word)
}

// quoted returns a recorded word in quotation marks, with unprintable characters escaped.
func quoted(word string) string {
	end := ""
	if r := []rune(word); len(r) > mostOfWord {
		word, end = string(r[:mostOfWord-3]), "..."
	}
	return strconv.Quote(word) + end
}

// mostOfReply is the most characters of a reply that are shown.
const mostOfReply = 80

// cut shortens a text to most characters, at its end.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return plain.Text(string(r[:most-3])) + "..."
	}
	return plain.Text(text)
}

// part formats a part of an answer's sentence.
func (t *narrator) part(part any) string {
	switch part := part.(type) {
	case explain.Instant:
		return t.ms(int64(part))
	case explain.Name:
		return shortened(string(part))
	case explain.Key:
		return quoted(string(part))
	}
	return ""
}
