package story

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/foreign"
	"github.com/lockbench/lockbench/verdicts"
)

const (
	milli  int64 = 1_000_000
	second int64 = 1000 * milli
)

// ms formats an instant as the time since the start of the story.
func (t *narrator) ms(at int64) string { return span(at - t.base) }

// span formats a length of time: in milliseconds, with a decimal or in smaller units if it is
// short, in seconds if it is long. Only 0 is shown as 0.
func span(ns int64) string {
	switch abs := max(ns, -ns); {
	case abs >= 10*second:
		return strconv.FormatFloat(float64(ns)/float64(second), 'f', 1, 64) + " s"
	case abs >= 10*milli || ns%milli == 0:
		return strconv.FormatFloat(math.Round(float64(ns)/float64(milli)), 'f', 0, 64) + " ms"
	case abs >= milli/10:
		return strconv.FormatFloat(float64(ns)/float64(milli), 'f', 1, 64) + " ms"
	case abs < 1000:
		return strconv.FormatInt(ns, 10) + " ns"
	}
	return strconv.FormatFloat(float64(ns)/1000, 'f', 0, 64) + " µs"
}

// broken returns what broke the property.
func (t *narrator) broken() string {
	v, key := t.v, quoted(t.v.Key)
	who, together := t.who()
	lasted := ""
	switch {
	case t.endless():
		lasted = " with no end"
	case v.Lasted > 0:
		lasted = " for " + span(v.Lasted)
	}
	switch v.Property {
	case verdicts.MutualExclusion:
		return fmt.Sprintf("%s %s held %s%s", who, together, key, lasted)
	case verdicts.ExclusiveUse:
		return fmt.Sprintf("%s were %s inside the critical section of %s%s", who, together, key, lasted)
	case verdicts.StoreIntegrity:
		return t.miswritten()
	case verdicts.ReleaseSafety, verdicts.Renewal, verdicts.Reentrancy:
		return t.misanswered()
	case verdicts.Linearizability:
		return fmt.Sprintf("no order of the operations on %s explains the replies to %s", key, who)
	case verdicts.FencingOrder:
		return t.misfenced()
	case verdicts.Progress:
		return fmt.Sprintf("%s could not get %s%s from %s on, though nobody held it", who, key, lasted, t.ms(v.At))
	case verdicts.Refusal:
		return fmt.Sprintf("%s was refused %s as busy when nobody can have held it", who, key)
	default: // fairness
		return fmt.Sprintf("%s was granted %s before %s, which had waited longer", t.last(), key, t.first())
	}
}

// misanswered returns which reply was wrong: the one to the only operation that shows the
// violation, or to the one at its instant.
func (t *narrator) misanswered() string {
	who, key, op := t.last(), quoted(t.v.Key), history.Operation{}
	for _, o := range t.v.Witness.Operations {
		if o.Call == t.v.At || o.Return == t.v.At || len(t.v.Witness.Operations) == 1 {
			op = o
		}
	}
	mayHold := slices.ContainsFunc(t.v.Witness.Holds, func(h checker.Hold) bool { // at the server, still
		return shortened(h.Client) == who && h.Possible.From <= op.Call && h.Possible.To >= op.Call
	})
	switch {
	case op.ID == 0 && t.v.Property == verdicts.ReleaseSafety:
		return fmt.Sprintf("%s, outside any operation, sent a command that changed what %s held of %s", who, t.first(), key)
	case op.Op == history.Release && t.v.Cause == verdicts.NoUnlock:
		return fmt.Sprintf("the release of %s by %s freed nothing", key, shortened(op.Client))
	case op.Op == history.Acquire:
		return fmt.Sprintf("%s was refused a re-entry of %s, which it held", who, key)
	case op.Op == history.Extend && len(t.v.Clients) > 1:
		return fmt.Sprintf("the renewal of %s by %s changed the hold of %s", key, who, t.victim())
	case op.Op == history.Extend && op.Outcome == history.OK && mayHold:
		return fmt.Sprintf("%s was told that it had renewed its hold on %s, though by the other replies that had ended", who, key)
	case op.Op == history.Extend && op.Outcome == history.OK:
		return fmt.Sprintf("%s was told that it had renewed its hold on %s, which had ended", who, key)
	case op.Op == history.Extend && op.Outcome == history.Fail:
		return fmt.Sprintf("the renewal of %s by %s failed, while its lease ran", key, who)
	case op.Op == history.Extend || op.Op == history.Lost || op.Outcome != history.OK && op.Outcome != history.Unknown:
		return fmt.Sprintf("%s was told that its hold on %s was gone, while its lease ran", who, key)
	case len(t.v.Clients) < 2:
		return fmt.Sprintf("the release of %s by %s was accepted, though its hold had ended", key, who)
	case t.v.Cause == verdicts.MisUnlock || t.v.Cause == verdicts.ReaderEvicted:
		return fmt.Sprintf("the release of %s by %s ended the hold of %s", key, who, t.victim())
	default:
		return fmt.Sprintf("the release of %s by %s was accepted, while %s held it", key, who, t.first())
	}
}

// victim returns whose hold a release ended: as the replay found, or else the first client of the
// violation.
func (t *narrator) victim() string {
	for i := range t.answer.Events {
		if e := &t.answer.Events[i]; e.HitAnothers() && e.Command != nil && shortened(e.Command.Client) == t.last() {
			return shortened(e.Holder)
		}
	}
	return t.first()
}

// miswritten returns what is wrong with a write.
func (t *narrator) miswritten() string {
	who, by, data := t.last(), t.first(), "data guarded by "+quoted(t.v.Key)
	switch t.v.Write {
	case checker.StaleFence:
		before, late := t.fences()
		return fmt.Sprintf("the %s was written with fence %d by %s, after it had been written with fence %d", data, late, who, before)
	case checker.StaleHold:
		return fmt.Sprintf("%s wrote to the %s after its hold had ended and %s had written under a later one", who, data, by)
	}
	if len(t.v.Clients) < 2 {
		return fmt.Sprintf("%s overwrote %s that it had not read", who, data)
	}
	return fmt.Sprintf("%s overwrote %s without having read what %s had written", who, data, by)
}

// misfenced returns which fence is too small, and what that does to the data that it should guard.
func (t *narrator) misfenced() string {
	before, after := t.fences()
	harm := fmt.Sprintf("a store that has seen fence %d rejects the writes of %s", before, t.last())
	if before == after {
		harm = "a store cannot tell their writes apart"
	}
	return fmt.Sprintf("%s was granted %s with fence %d, after %s with fence %d: %s", t.last(), quoted(t.v.Key), after, t.first(), before, harm)
}

// fences returns the fences of the two grants, or of the two writes, that show a violation.
func (t *narrator) fences() (before, after uint64) {
	var all []uint64
	for _, h := range t.v.Witness.Holds {
		all = append(all, h.Fence)
	}
	if t.v.Property == verdicts.StoreIntegrity {
		all = nil
		for _, op := range t.v.Witness.Operations {
			all = append(all, op.Fence)
		}
	}
	if len(all) < 2 {
		return 0, 0
	}
	return all[0], all[len(all)-1]
}

// first and last return the first and the last client of a violation.
func (t *narrator) first() string { return t.client(0) }

func (t *narrator) last() string { return t.client(len(t.v.Clients) - 1) }

func (t *narrator) client(i int) string {
	if i < 0 || i >= len(t.v.Clients) {
		return "a client"
	}
	return shortened(t.v.Clients[i])
}

// who names the clients of a violation, and the word for what they did together.
func (t *narrator) who() (names, together string) {
	var all []string
	for _, c := range t.v.Clients {
		if name := shortened(c); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	switch n := len(all); n {
	case 0:
		return "a client", ""
	case 1:
		return all[0], "twice"
	case 2:
		return all[0] + " and " + all[1], "both"
	case 3:
		return all[0] + ", " + all[1] + " and " + all[2], "all"
	default:
		return fmt.Sprintf("%s and %d others", all[0], n-1), "all"
	}
}

// fault describes a fault window: what it hit, what it did, and when.
func (t *narrator) fault(w *history.Window) string {
	whom := "the network"
	kind, _ := faults.FindKind(w.Fault)
	switch {
	case w.Client != "":
		whom = shortened(w.Client)
	case w.Node >= 0:
		whom = history.Node(w.Node).String()
	case kind.In == faults.InServer:
		whom = "the server"
	case kind.In == faults.InClient:
		whom = "every client"
	}
	seen := "measured"
	if !w.Confirmed {
		seen = "not confirmed"
	}
	when := fmt.Sprintf("from %s to %s", t.ms(w.Start), t.ms(w.End))
	switch {
	case w.Start < t.base && (w.End == 0 || w.End > t.to):
		when = "throughout"
	case w.Start < t.base:
		when = "until " + t.ms(w.End)
	case w.Client != "" && w.Does.Any(history.Kills), w.End != 0 && t.ms(w.End) == t.ms(w.Start):
		when = "at " + t.ms(w.Start)
	case w.End == 0:
		when = "from " + t.ms(w.Start) + " on"
	}
	what := cmp.Or(kind.Did, "was hit by "+shortened(w.Fault))
	return fmt.Sprintf("%s %s %s (%s, %s)%s", whom, what, when, shortened(w.Fault), seen, t.effects(w))
}

// effects describes what a fault did to the data or the clock of a node: as the replay found if the
// answer names it, otherwise as measured.
func (t *narrator) effects(w *history.Window) string {
	if len(w.Effects) == 0 {
		return ""
	}
	e := &w.Effects[0]
	var lost []string // by it and others like it, each key once
	for i := range w.Effects {
		if x := &w.Effects[i]; x.What == e.What {
			lost = append(lost, slices.DeleteFunc(slices.Clone(x.Lost), func(key string) bool { return slices.Contains(lost, key) })...)
		}
	}
	if found := t.did(w); found != nil {
		e, lost = found.Effect, found.Lost
	}
	ran := "fast"
	if e.PPM < 0 {
		ran = "slow"
	}
	rate := strconv.FormatFloat(math.Abs(float64(e.PPM))/10_000, 'f', -1, 64) + " % " + ran
	text := map[string]string{history.Restarted: "it came back", history.Promoted: "its replica took over", history.ClockSet: "by " + span(e.By),
		history.ClockRate: rate, history.Deleted: "nothing was there", history.Evicted: "nothing was evicted"}[e.What]
	if e.What == history.Promoted && e.Node != w.Node {
		text = fmt.Sprintf("%s took over at %s", history.Node(e.Node), t.ms(e.At))
		if e.At < t.base {
			text = fmt.Sprintf("%s had taken over %s before", history.Node(e.Node), span(t.base-e.At))
		}
	}
	switch {
	case len(lost) > 0 && (e.What == history.Deleted || e.What == history.Evicted):
		text = e.What + " " + keys(lost)
	case len(lost) > 0:
		text += " without " + keys(lost)
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

// The most characters of a request and of its reply that are shown: together with the words around
// them a command fits two lines of a terminal.
const (
	mostOfRequest = 60
	mostOfReply   = 24
)

// command formats a command and its reply as recorded, each shortened at its end.
func command(c *history.Command) string {
	request := shortened(c.Name)
	for _, arg := range c.Args {
		word := " " + shortened(arg)
		if utf8.RuneCountInString(request+word) > mostOfRequest {
			request += " ..."
			break
		}
		request += word
	}
	if c.Replied == 0 {
		return request + " -> no reply"
	}
	return request + " -> " + cut(c.Reply, mostOfReply)
}

// mostOfWord is the most characters of a recorded word that are shown; a longer word is cut at its
// end.
const mostOfWord = 32

// shortened returns a recorded word, quoted if it is long, unprintable or would not read as one
// word.
func shortened(word string) string {
	if word != "" && foreign.Text(word) == word && !strings.ContainsAny(word, ` "`) && utf8.RuneCountInString(word) <= mostOfWord {
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

// cut shortens a text to most characters, at its end.
func cut(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return foreign.Text(string(r[:most-3])) + "..."
	}
	return foreign.Text(text)
}
