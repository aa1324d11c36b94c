package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// lockPages is a card for each lock: how it works, its kind and source, its protocol as two clients
// see it, the claims that do not hold, and where it breaks.
func lockPages(t *testing.T) string {
	t.Helper()
	s := sim.New(catalogue.Known{})
	t.Cleanup(s.Close)
	cells := map[string][]results.Cell{}
	for _, c := range baselineSuite(t).Cells {
		cells[c.Lock] = append(cells[c.Lock], c)
	}
	var b strings.Builder
	for _, g := range bundles {
		fmt.Fprintf(&b, "- *%s*: %s\n", g.name, strings.Join(g.scenarios, ", "))
	}
	b.WriteString("\n")
	var first impls.Variant // of a family of locks that only differ in settings
	for _, v := range catalogue.Locks() {
		how := v.Summary
		if rest, same := strings.CutPrefix(how, first.Summary+" "); same {
			how = "As " + first.Name + ". " + rest
		} else {
			first = v
		}
		fmt.Fprintf(&b, "**%s**: %s\\\n%s.\\\n`%s`\\\n", v.Name, how, kindAndSource(v), protocol(t, s, v))
		var wrong []string
		for _, c := range v.Claims {
			if !c.Holds {
				wrong = append(wrong, strconv.Quote(strings.TrimSuffix(c.Text, ".")))
			}
		}
		if len(wrong) > 0 {
			fmt.Fprintf(&b, "Not so: %s.\\\n", strings.Join(wrong, "; "))
		}
		fmt.Fprintf(&b, "%s\n\n", endingsOf(cells[v.Name]))
	}
	return b.String()
}

// kindAndSource is what a lock is, unless it is a mutex on one server, and where it comes from.
func kindAndSource(v impls.Variant) string {
	from := strings.TrimSuffix(source(v.Source), ", beyond the sources")
	if v.Kind == history.Mutex && v.Topology == impls.Standalone {
		return from
	}
	return fmt.Sprintf("%s on %s; %s", v.Kind, v.Topology, from)
}

// bundles are scenarios that most locks end alike in, and the name that a card has for all of them.
var bundles = []struct {
	name      string
	scenarios []string
}{
	{"stalls", []string{"slow-work", "pause-holder", "blackhole-client"}},
	{"lost key", []string{"kill-server", "failover", "clock-jump", "key-deleted", "eviction"}},
}

// endingsOf lists the scenarios in which a lock breaks, by how they end, the worst first.
func endingsOf(cells []results.Cell) string {
	by := map[results.Ending][]string{}
	for _, c := range cells {
		by[c.Ending()] = append(by[c.Ending()], c.Scenario)
	}
	var words []string
	for _, e := range results.Endings() {
		if len(by[e]) > 0 && e != results.Holds && e != results.NotRun {
			words = append(words, fmt.Sprintf("%s: %s", e, scenarioNamesOf(by[e], by[results.NotRun])))
		}
	}
	if len(words) == 0 {
		return "Holds in every scenario."
	}
	return strings.ToUpper(words[0][:1]) + strings.Join(words, "; ")[1:] + "."
}

// scenarioNamesOf names scenarios that end alike: those that stand together by one name, if all of
// them that apply are among them, and of the others the first few.
func scenarioNamesOf(scenarios, notRun []string) string {
	var names []string
	for _, g := range bundles {
		apply := slices.DeleteFunc(slices.Clone(g.scenarios), func(s string) bool { return slices.Contains(notRun, s) })
		in := func(s string) bool { return slices.Contains(apply, s) }
		if len(apply) > 1 && !slices.ContainsFunc(apply, func(s string) bool { return !slices.Contains(scenarios, s) }) {
			scenarios = slices.DeleteFunc(slices.Clone(scenarios), in)
			names = append(names, "*"+g.name+"*")
		}
	}
	names = append(names, scenarios[:min(len(scenarios), mostNamed)]...)
	if more := len(scenarios) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// mostNamed is how many scenarios of one ending a card names one by one.
const mostNamed = 3

// protocol lists what two clients of a lock send: the first acquires, the second tries meanwhile,
// the first releases. What a client repeats is listed once.
func protocol(t *testing.T, s *sim.Simulator, v impls.Variant) string {
	t.Helper()
	load, ok := workloads.Find("hot")
	if !ok {
		t.Fatal("no workload hot")
	}
	out, err := s.Run(sim.Program{Lock: v.Name, Load: "hot", Variant: v, Workload: load, Clients: 2, Seed: 1,
		Config: workloads.Config{Ops: 1, Lease: time.Second, Think: 100 * time.Millisecond, AcquireWait: time.Millisecond}}, 0)
	if err != nil {
		t.Fatalf("%s: %v", v.Name, err)
	}
	var parts []string
	for i, c := range out.Commands {
		if c.Node > 0 || !visible(c) {
			continue
		}
		name := c.Name
		if c.IsScript() && len(c.Args) > 0 {
			name = shorten(c.Args[0])
		}
		mark := strings.TrimSpace(lane(c.Client, i, out))
		part := c.Client + strings.Trim(mark, "o|") + " " + name
		if c.Reply != "" && c.Name != "SUBSCRIBE" {
			part += "->" + shorten(c.Reply)
		}
		if (len(parts) < mostSent || mark == "]") && !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "  ")
}

// mostSent is how many commands a card shows before the release.
const mostSent = 4

// lane is the mark of a command in the column of a client: [ the client's grant, ] its release, o
// another
// command that it sent, | another client's command while it holds the lock.
func lane(client string, i int, out sim.Outcome) string {
	c, holds := out.Commands[i], false
	for _, op := range out.Ops {
		switch sent := c.Client == client && op.Call <= c.Sent && c.Sent <= op.Return; {
		case op.Client != client:
		case op.Op == history.Release && sent:
			return "]"
		case op.Op == history.Release:
			holds = holds && op.Call > c.Sent
		case op.Op == history.Acquire && op.Outcome == history.OK && sent && last(op, out.Commands[i+1:]):
			return "["
		case op.Op == history.Acquire && op.Outcome == history.OK:
			holds = op.Return <= c.Sent
		}
	}
	switch {
	case c.Client == client:
		return "o"
	case holds:
		return "|"
	}
	return " "
}

// last reports whether none of the later commands belongs to an operation.
func last(op history.Operation, later []history.Command) bool {
	return !slices.ContainsFunc(later, func(c history.Command) bool {
		return c.Client == op.Client && c.Node == 0 && c.Sent <= op.Return && visible(c)
	})
}

// visible reports whether a command is part of a lock's protocol rather than of a connection, and
// the server knew its script.
func visible(c history.Command) bool {
	return !strings.HasPrefix(c.Reply, "-NOSCRIPT") && !slices.Contains([]string{"HELLO", "CLIENT", "PING", "SELECT", "COMMAND"}, c.Name)
}

var secret = regexp.MustCompile(`[0-9a-f]{12,}`)

// shorten cuts what nobody reads of a token or a script.
func shorten(word string) string {
	word = secret.ReplaceAllStringFunc(word, func(token string) string { return token[:6] + "…" })
	if r := []rune(word); len(r) > 24 {
		return string(r[:21]) + "…"
	}
	return word
}
