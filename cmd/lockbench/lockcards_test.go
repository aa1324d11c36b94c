package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/report"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/workloads"
)

// lockPages is a card for each lock: how it works, its kind and source, its protocol as two clients
// see it, and where it breaks. Of a lock that only differs in settings from the one before, the card
// says what differs.
func lockPages(t *testing.T) string {
	t.Helper()
	s := sim.New(catalogue.Known{})
	t.Cleanup(s.Close)
	cells := map[string][]results.Cell{}
	for _, c := range baselineSuite(t).Cells {
		cells[c.Lock] = append(cells[c.Lock], c)
	}
	var b strings.Builder
	var first impls.Variant // of a family of locks that only differ in settings
	for _, v := range catalogue.Locks() {
		if differs, same := strings.CutPrefix(v.Summary, first.Summary+" "); same {
			fmt.Fprintf(&b, "**%s**: As %s. %s\\\n", v.Name, first.Name, differs)
		} else {
			first = v
			fmt.Fprintf(&b, "**%s**: %s\\\n%s.\\\n`%s`\\\n", v.Name, v.Summary, kindAndSource(v), protocol(t, s, v))
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

// like are scenarios that most locks end alike in as in a scenario of choosing.md.
var like = map[string]string{
	"blackhole-client": "pause-holder",
	"key-deleted":      "kill-server",
	"eviction":         "kill-server",
}

// endingsOf lists the scenarios in which a lock breaks, by how they end, the worst first. Left out
// are those of choosing.md, and those that end like one of them.
func endingsOf(cells []results.Cell) string {
	of := map[string]results.Ending{}
	for _, c := range cells {
		of[c.Scenario] = c.Ending()
	}
	shown := func(scenario string) bool {
		return slices.ContainsFunc(report.Questions(), func(q report.Question) bool { return q.Scenario == scenario }) ||
			of[scenario] == of[like[scenario]]
	}
	by := map[results.Ending][]string{}
	for _, c := range cells {
		if !shown(c.Scenario) {
			by[c.Ending()] = append(by[c.Ending()], c.Scenario)
		}
	}
	var words []string
	for _, e := range results.Endings() {
		if len(by[e]) > 0 && e != results.Holds && e != results.NotRun {
			words = append(words, fmt.Sprintf("%s: %s", e, firstOf(by[e])))
		}
	}
	if len(words) == 0 {
		return "Nothing more."
	}
	return strings.ToUpper(words[0][:1]) + strings.Join(words, "; ")[1:] + "."
}

// firstOf names the first few scenarios, and counts the others.
func firstOf(scenarios []string) string {
	names := slices.Clone(scenarios[:min(len(scenarios), mostNamed)])
	if more := len(scenarios) - mostNamed; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// mostNamed is how many scenarios of one ending a card names.
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
