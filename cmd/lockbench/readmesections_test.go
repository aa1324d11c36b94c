package main

import (
	"fmt"
	"os"
	"path/filepath"
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

// sections are the parts of the pages that are made from the catalogue, the scenarios or the stored
// suite.
var sections = map[string]func(*testing.T) string{
	"choose":   chooseTable,
	"survives": survivesTable,
	"locks":    lockPages,
	"picture":  picture,
}

// baselineSuite is the suite that the repository keeps.
func baselineSuite(t *testing.T) results.Suite {
	t.Helper()
	suite, err := results.LoadSuite(moduleRoot + "results/baseline/suite-sim.json")
	must(t, err)
	for i, c := range suite.Cells { // a stored suite has no verdicts of properties, from which a cell would know
		v, _ := catalogue.Find(c.Lock)
		suite.Cells[i].Fences = v.Traits.Fenced
	}
	return suite
}

// storedBenchFile is where the bench lies that the repository keeps.
const storedBenchFile = moduleRoot + "results/baseline/bench.json"

func baselineBench(t *testing.T) results.Bench {
	t.Helper()
	b, err := results.LoadBench(storedBenchFile)
	must(t, err)
	return b
}

// ending is what a cell comes to in words; what does harm is bold.
func ending(c results.Cell) string {
	e := c.Ending()
	if e == results.Two || e == results.Stuck {
		return "**" + string(e) + "**"
	}
	return string(e)
}

// chooseTable returns the locks that one may adopt, and what a hold costs with eight clients;
// survivesTable all locks, those that end alike in one row.
func chooseTable(t *testing.T) string {
	rows := endings(t, []string{"set-nx-ex", "token", "fenced", "fair", "handoff", "redisson", "redlock", "rw-lease",
		"redsync", "redislock-normalised", "rueidislock"})
	all := sameInAllRows(rows)
	rows[0], rows[1] = append(rows[0], "requests", "trips"), append(rows[1], "--:", "--:")
	costs := map[string]results.BenchCell{}
	for _, c := range baselineBench(t).Cells {
		if c.Setting.Clients == 8 {
			costs[c.Lock] = c
		}
	}
	for i := range rows[2:] {
		row := &rows[i+2]
		c, ok := costs[strings.Trim((*row)[0], "`")]
		if !ok {
			t.Errorf("the stored bench has no lock %s", (*row)[0])
		}
		*row = append(*row, report.Figure(c.Figures["requests"]), measured(c.Figures["hand-over.trips.p50"]))
	}
	return table(rows) + "\nAll the same: " + strings.Join(all, ", ") + ".\n"
}

// sameInAllRows takes the columns in which all locks end alike out of a table, and returns what each
// of them said.
func sameInAllRows(rows [][]string) (said []string) {
	for column := len(rows[0]) - 1; column > 0; column-- {
		same := !slices.ContainsFunc(rows[2:], func(row []string) bool { return row[column] != rows[2][column] })
		if !same {
			continue
		}
		said = append(said, fmt.Sprintf("%s (%s)", rows[0][column], rows[2][column]))
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	slices.Reverse(said)
	return said
}

// measured is a figure; "–" if its interval is wider than its value.
func measured(f results.Figure) string {
	if f.Value != nil && f.Low != nil && f.High != nil && *f.High-*f.Low > *f.Value {
		return "–"
	}
	return report.Figure(f)
}

func survivesTable(t *testing.T) string {
	var all []string
	for _, v := range catalogue.Locks() {
		all = append(all, v.Name)
	}
	return table(alike(endings(t, all)))
}

// alike joins the rows that differ only in the lock.
func alike(rows [][]string) (out [][]string) {
	for _, row := range rows {
		at := slices.IndexFunc(out, func(o []string) bool { return slices.Equal(o[1:], row[1:]) })
		if at < 0 || strings.HasPrefix(row[0], "---") {
			out = append(out, row)
			continue
		}
		out[at][0] += ", " + row[0]
	}
	return out
}

// endings is how the scenarios of the questions end, a row for each lock under a head and a rule.
func endings(t *testing.T, locks []string) [][]string {
	t.Helper()
	observed := map[[2]string]string{}
	for _, c := range baselineSuite(t).Cells {
		observed[[2]string{c.Lock, c.Scenario}] = ending(c)
	}
	head, rule := []string{"lock"}, []string{"---"}
	for _, q := range report.Questions() {
		head, rule = append(head, q.Head), append(rule, "---")
	}
	rows := [][]string{head, rule}
	for _, lock := range locks {
		row := []string{"`" + lock + "`"}
		for _, q := range report.Questions() {
			cell, ok := observed[[2]string{lock, q.Scenario}]
			if !ok {
				t.Errorf("the stored suite has no cell %s × %s", lock, q.Scenario)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

// table writes a Markdown table; the first two rows are its head and its rule.
func table(rows [][]string) string {
	var b strings.Builder
	for _, row := range rows {
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	return b.String()
}

// picture is the story and the drawing of the first violation of the README's example.
func picture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	runCommand(t, dir, "run --lock set-nx-ex --scenario pause-before-release --server sim --seed 1 # exit 1")
	data, err := os.ReadFile(filepath.Join(dir, "results/runs/latest", results.ViolationsPath, "001.txt"))
	must(t, err)
	_, story, _ := strings.Cut(string(data), "\n\n")
	story, _, ok := strings.Cut(story, "\n\noperations")
	if !ok {
		t.Fatalf("the first violation has no story:\n%s", data)
	}
	return "```text\n" + story + "\n```"
}

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
