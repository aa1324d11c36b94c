// Command trackrecord writes the table of docs/findings.md: which scenarios each released library survives, what it breaks in, and what it
// costs. It runs lockbench's suite and its benchmark for each, on redis-server from PATH, and reads their JSON.
//
//	go run ./examples/trackrecord -lockbench bin/lockbench > table.md
//	go run ./examples/trackrecord -lockbench bin/lockbench -children /tmp/library redis-py go-zero
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/results"
)

// library is a row of the table: a lock of the catalogue, or a child.
type library struct {
	name, version string
	lock          string // of the catalogue
	child         string // of examples/libraries
	command       string // of --exec
}

func shipped() []library {
	return []library{
		{name: "redsync", version: "v4.18.1", lock: "redsync"},
		{name: "bsm/redislock", version: "v0.10.0", lock: "redislock"},
		{name: "rueidislock", version: "v1.0.79", lock: "rueidislock"},
		{name: "redsync on redigo", version: "v4.18.1", child: "redsync-redigo"},
		{name: "valkeylock", version: "v1.0.79", child: "valkeylock"},
		{name: "go-zero RedisLock", version: "v1.10.3", child: "go-zero"},
		{name: "asynq unique task", version: "v0.26.0", child: "asynq-unique"},
		{name: "redis-py Lock", version: "4.3.4", command: "/usr/bin/python3 examples/exec/mylock.py"},
		{name: "Symfony Lock", version: "5.4.53", command: "php examples/exec/symfony_lock.php"},
		{name: "Laravel cache lock", version: "8.83.26", command: "php examples/exec/laravel_lock.php"},
		{name: "tooz", version: "3.1.0", command: "/usr/bin/python3 examples/exec/tooz_lock.py"},
	}
}

// tool is the lockbench program, and where the children of examples/libraries are.
type tool struct {
	program, children, server string
	measure                   time.Duration
}

// suite is how lockbench is told which lock it is to run in its suite; bench likewise.
func (t tool) subject(l library, flag string) []string {
	switch {
	case l.lock != "":
		return []string{flag, l.lock}
	case l.child != "":
		return []string{"--exec", t.children + " " + l.child}
	}
	return []string{"--exec", l.command}
}

// run runs lockbench and reads the JSON that it prints. An exit code tells of findings, which are what is looked for.
func (t tool) run(into any, args ...string) error {
	var out, chatter bytes.Buffer
	cmd := exec.Command(t.program, append(args, "-o", "json")...)
	cmd.Stdout, cmd.Stderr = &out, &chatter
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if e := json.Unmarshal(out.Bytes(), into); e != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), cmp.Or(err, e), chatter.String())
	}
	return nil
}

// row is what was measured of a library.
type row struct {
	library
	suite results.Suite
	bench results.Bench
}

func (t tool) measured(l library) (r row, err error) {
	r.library = l
	out, err := os.MkdirTemp("", "trackrecord")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(out)
	err = t.run(&r.suite, append([]string{"suite", "--server", t.server, "--out", out}, t.subject(l, "--locks")...)...)
	if err != nil {
		return r, err
	}
	return r, t.run(&r.bench, append([]string{"bench", "--server", t.server, "--clients", "1,8", "--duration", t.measure.String(), "--reps", "3", "--out", out}, t.subject(l, "--locks")...)...)
}

// survives counts the scenarios in which nothing broke and those that apply.
func (r row) survives() (kept, all int) {
	for _, c := range r.suite.Cells {
		if c.Observed == results.NothingObserved || c.Verdict == checker.NotApplicable {
			continue
		}
		all++
		if c.Observed == "safe" {
			kept++
		}
	}
	return kept, all
}

// breaks are what broke, each with the scenarios in which it did.
func (r row) breaks() string {
	where := map[string][]string{}
	for _, c := range r.suite.Cells {
		if c.Observed == "safe" || c.Observed == results.NothingObserved || c.Verdict == checker.NotApplicable {
			continue
		}
		for pair := range strings.FieldsSeq(c.Observed) {
			where[pair] = append(where[pair], c.Scenario)
		}
	}
	var parts []string
	for pair, scenarios := range where {
		parts = append(parts, fmt.Sprintf("%s (%s)", pair, strings.Join(scenarios, ", ")))
	}
	slices.Sort(parts)
	return cmp.Or(strings.Join(parts, "; "), "nothing")
}

// figure is a metric of the setting with so many clients; "–" where there were too few samples.
func (r row) figure(clients int, metric, format string, unit float64) string {
	for _, c := range r.bench.Cells {
		if c.Lock == r.bench.Plan.Reference && len(r.bench.Plan.Locks) > 1 || c.Setting.Clients != clients {
			continue
		}
		if f := c.Figures[metric]; f.Value != nil {
			return fmt.Sprintf(format, *f.Value/unit)
		}
	}
	return "–"
}

func (r row) write(w io.Writer) {
	kept, all := r.survives()
	fmt.Fprintf(w, "| %s %s | %d of %d | %s | %s | %s | %s | %s |\n", r.name, r.version, kept, all, r.breaks(),
		r.figure(1, "acquire.p50", "%.2f", 1e6), r.figure(1, "requests", "%.1f", 1), r.figure(8, "throughput", "%.0f", 1), r.figure(8, "hand-over.p50", "%.2f", 1e6))
}

func main() {
	log.SetFlags(0)
	var t tool
	flag.StringVar(&t.program, "lockbench", "lockbench", "the program")
	flag.StringVar(&t.children, "children", "", "the program of examples/libraries/child; without it those libraries are left out")
	flag.StringVar(&t.server, "server", "process", "see lockbench suite --help")
	flag.DurationVar(&t.measure, "measure", 5*time.Second, "of each repetition of the benchmark")
	flag.Parse()
	if err := t.table(os.Stdout, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// table writes a row for each library that is named, or for all.
func (t tool) table(w io.Writer, names []string) error {
	fmt.Fprintln(w, "| library | survives | breaks (in) | acquire p50, ms | requests a hold | holds/s, 8 clients | hand-over p50, ms |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|")
	var failed []error
	for _, l := range shipped() {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(l.name, n) }) || l.child != "" && t.children == "" {
			continue
		}
		r, err := t.measured(l)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", l.name, err))
			continue
		}
		r.write(w)
	}
	return errors.Join(failed...)
}
