package explain_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/history"
)

// sheet is what a reader gets of a case: everything recorded up to the violation, without a cause. It omits the names of the lock and the scenario,
// because some of them reveal it.
func (c *blindCase) sheet(name string, full bool) string {
	var b strings.Builder
	h, v := c.rec.Header, c.violation
	fmt.Fprintf(&b, "case %s\n\nviolation: %s", name, c.of)
	if v.Lasted > 0 {
		fmt.Fprintf(&b, ", for %s ms", millisOf(v.Lasted))
	}
	fmt.Fprintf(&b, " (the client that was wronged first)\nlock: kind %s, lease %s ms (0 = none), drift %s ms, permits %d, votes %v, wakes waiters %v, fifo %v, lease counts from asking %v\n",
		h.Kind, millisOf(h.Lease), millisOf(h.Drift), h.Permits, h.Votes, h.Wakeups, h.FIFO, h.LeaseFromAsking)
	fmt.Fprintf(&b, "clock error %s ms; the run's time 0 is %d ms since 1970\ntimes: milliseconds since the run's start, call..return and sent..replied\n", millisOf(h.ClockError), h.Epoch/1_000_000)
	b.WriteString("\nthe operations that show the violation:\n")
	for _, op := range v.Witness.All() {
		b.WriteString("  " + sheetOp(&op) + "\n")
	}
	b.WriteString("\nfaults (what was done to a client or a node, and its effects on data and clocks):\n")
	for i := range c.rec.Faults {
		b.WriteString("  " + sheetWindow(&c.rec.Faults[i]) + "\n")
	}
	b.WriteString("\noperations of the key, by call:\n")
	for _, line := range recent(c.sheetOps(), full) {
		b.WriteString("  " + line + "\n")
	}
	known := "in the order in which the node executed them, #turn @ the instant"
	if !slices.ContainsFunc(c.rec.Commands, func(c history.Command) bool { return c.Turn != 0 }) {
		known = "by the instant at which they were sent; executed at some instant between sent and replied, in an order that is not known"
	}
	fmt.Fprintf(&b, "\ncommands, %s (op0 = sent in the background of no operation; ? = no reply was seen):\n", known)
	for _, line := range recent(c.sheetCommands(), full) {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("\nscripts:\n")
	for _, digest := range c.scriptsSent() {
		fmt.Fprintf(&b, "--- %s (%s)\n%s\n", digest[:8], c.scriptName(digest), uncommented(c.rec.Scripts[digest]))
	}
	return b.String()
}

// uncommented returns a script without its comments, some of which reveal its bug.
func uncommented(source string) string {
	lines := slices.DeleteFunc(strings.Split(source, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "--")
	})
	return strings.Join(lines, "\n")
}

// recent returns the last of some lines, or all for the full sheet.
func recent(lines []string, full bool) []string {
	const most = 250
	if full || len(lines) <= most {
		return lines
	}
	return append([]string{fmt.Sprintf("(%d earlier lines: see the file .full)", len(lines)-most)}, lines[len(lines)-most:]...)
}

func sheetOp(op *history.Operation) string {
	out := fmt.Sprintf("op%d %s %s %s %s..%s %s", op.ID, op.Client, op.Op, op.Mode, millisOf(op.Call), instantOf(op.Return), op.Outcome)
	for _, f := range []struct {
		name  string
		value string
	}{{"token", op.Token}, {"asked", some(op.Asked)}, {"valid-until", some(op.ValidUntil)}, {"fence", count(op.Fence)}, {"error", op.Err}} {
		if f.value != "" {
			out += " " + f.name + "=" + f.value
		}
	}
	if op.HasValue {
		out += fmt.Sprintf(" read=%d wrote=%d", op.Read, op.Wrote)
	}
	return out
}

func some(at int64) string {
	if at == 0 {
		return ""
	}
	return instantOf(at)
}

func instantOf(at int64) string {
	if at == math.MaxInt64 {
		return "until-told"
	}
	return millisOf(at)
}

func count(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func sheetWindow(w *history.Window) string {
	out := fmt.Sprintf("%s %s node %d %s..%s confirmed=%v %s", w.Fault, w.Client, w.Node, millisOf(w.Start), some(w.End), w.Confirmed, w.Note)
	for _, e := range w.Effects {
		out += fmt.Sprintf("\n      effect on node %d at %s: %s by=%s ms ppm=%d kept=%q lost=%q", e.Node, millisOf(e.At), e.What, millisOf(e.By), e.PPM, e.Kept, e.Lost)
		if e.Known {
			out += fmt.Sprintf(" after turn %d", e.Turn)
		}
	}
	return out
}

// sheetOps lists the operations of the violation's key. Of consecutive refusals of a client it shows the first and the last.
func (c *blindCase) sheetOps() (out []string) {
	ops := slices.DeleteFunc(slices.Clone(c.rec.Ops), func(op history.Operation) bool { return c.violation.Key != "" && op.Key != c.violation.Key })
	slices.SortStableFunc(ops, func(a, b history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return folded(len(ops), func(i int) (group, line string) {
		if op := &ops[i]; op.Op == history.Acquire && op.Outcome == history.Busy {
			return op.Client + " " + op.Mode.String(), sheetOp(op)
		}
		return "", sheetOp(&ops[i])
	}, func(i int) string { return ops[i].Client })
}

// sheetCommands lists the commands. Of consecutive equal commands of a client with equal replies it shows the first and the last.
func (c *blindCase) sheetCommands() []string {
	all := slices.Clone(c.rec.Commands)
	slices.SortStableFunc(all, func(a, b history.Command) int {
		return cmp.Or(cmp.Compare(cmp.Or(a.Ran, a.Sent), cmp.Or(b.Ran, b.Sent)), cmp.Compare(a.Turn, b.Turn), cmp.Compare(a.Sent, b.Sent))
	})
	return folded(len(all), func(i int) (group, line string) {
		x := &all[i]
		return fmt.Sprint(x.Client, x.Node, x.Op, x.Name, x.Args, x.Reply, x.Replied == 0), sheetCommand(x)
	}, func(i int) string { return all[i].Client })
}

func sheetCommand(x *history.Command) string {
	turn, reply, replied := "", "?", "?"
	if x.Turn != 0 {
		turn = fmt.Sprintf("#%d@%s ", x.Turn, millisOf(x.Ran))
	}
	if x.Replied != 0 {
		reply, replied = x.Reply, millisOf(x.Replied)
	}
	args := slices.Clone(x.Args)
	if x.Script != "" && len(args) > 0 {
		args[0] = x.Script[:8]
	}
	return fmt.Sprintf("%s%s..%s %s op%d node%d conn%d: %s %s -> %s", turn, millisOf(x.Sent), replied, x.Client, x.Op, x.Node, x.Conn, x.Name, strings.Join(args, " "), reply)
}

// folded lists lines; of those in a row, among the lines of their owner, that belong to one group only the first and the last.
func folded(n int, line func(i int) (group, text string), owner func(i int) string) (out []string) {
	last, next := map[string]string{}, make([]string, n) // by owner, backwards: the group of the next line
	for i := n - 1; i >= 0; i-- {
		group, _ := line(i)
		next[i], last[owner(i)] = last[owner(i)], group
	}
	clear(last)
	hidden := map[string]int{}
	for i := range n {
		group, text := line(i)
		who := owner(i)
		if group != "" && last[who] == group && next[i] == group {
			hidden[who]++
			continue
		}
		if hidden[who] > 0 {
			text += fmt.Sprintf("   (the last of %d like it in a row)", hidden[who]+2)
			hidden[who] = 0
		}
		last[who] = group
		out = append(out, text)
	}
	return out
}

// scriptsSent returns the digests of the scripts that commands ran.
func (c *blindCase) scriptsSent() (out []string) {
	for i := range c.rec.Commands {
		if s := c.rec.Commands[i].Script; s != "" && !slices.Contains(out, s) && c.rec.Scripts[s] != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

// scriptName returns the name by which commands call a script.
func (c *blindCase) scriptName(digest string) string {
	for i := range c.rec.Commands {
		if x := &c.rec.Commands[i]; x.Script == digest && len(x.Args) > 0 {
			return x.Args[0]
		}
	}
	return ""
}
