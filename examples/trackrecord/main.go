// Command trackrecord measures the released libraries: it runs lockbench's suite and benchmark for
// each, on redis-server from PATH, and stores the results in record.json. A test writes the table
// of docs/findings.md from that.
//
//	go run ./examples/trackrecord -lockbench bin/lockbench -children /tmp/library redis-py go-zero
//	go test ./examples/trackrecord -update
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
)

// library is a lock of the catalogue, or a child process.
type library struct {
	name, version string
	lock          string // of the catalogue
	child         string // of examples/libraries
	command       string // of --exec
}

func shipped() []library {
	return []library{
		{name: "redsync", version: "v4.18.1", lock: "redsync"},
		{name: "bsm/redislock", version: "v0.10.0", lock: "redislock-normalised"}, // by default it does not wait
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

// tool has the lockbench program, and that of examples/libraries.
type tool struct {
	program, children, server string
	measure                   time.Duration
}

// subject returns the flags that name a library to lockbench.
func (t tool) subject(l library) []string {
	switch {
	case l.lock != "":
		return []string{"--locks", l.lock}
	case l.child != "":
		return []string{"--exec", t.children + " " + l.child}
	}
	return []string{"--exec", l.command}
}

// run runs lockbench and decodes the JSON that it prints. An exit code for violations is not an
// error.
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

func (t tool) measured(l library) (r row, err error) {
	out, err := os.MkdirTemp("", "trackrecord")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(out)
	var suite results.Suite
	args := append([]string{"suite", "--server", t.server, "--out", out}, t.subject(l)...)
	if err := t.run(&suite, args...); err != nil {
		return r, err
	}
	var bench results.Bench
	args = append([]string{"bench", "--server", t.server, "--clients", "1,8", "--duration", t.measure.String(), "--out", out}, t.subject(l)...)
	if err := t.run(&bench, args...); err != nil {
		return r, err
	}
	return newRow(l, suite, bench), nil
}

func main() {
	log.SetFlags(0)
	var t tool
	record := flag.String("record", filepath.Join("examples", "trackrecord", recordFile), "the file that keeps the rows")
	flag.StringVar(&t.program, "lockbench", "lockbench", "the program")
	flag.StringVar(&t.children, "children", "", "the program of examples/libraries; without it those libraries are omitted")
	flag.StringVar(&t.server, "server", "process", "see lockbench suite --help")
	flag.DurationVar(&t.measure, "measure", 10*time.Second, "length of each setting of the benchmark")
	flag.Parse()
	if err := t.renew(*record, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// renew measures the libraries whose names contain one of the words, or all, and replaces their
// rows, in the order of the libraries. It stores each row as soon as it is measured.
func (t tool) renew(record string, words []string) error {
	rows, err := readRows(record)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var failed []error
	for _, l := range shipped() {
		named := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(l.name, w) })
		if len(words) > 0 && !named || l.child != "" && t.children == "" {
			continue
		}
		r, err := t.measured(l)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", l.name, err))
			continue
		}
		rows = append(slices.DeleteFunc(rows, func(o row) bool { return o.Library == r.Library }), r)
		place := func(r row) int {
			return slices.IndexFunc(shipped(), func(l library) bool { return l.name == r.Library })
		}
		slices.SortFunc(rows, func(a, b row) int { return place(a) - place(b) })
		text, err := json.MarshalIndent(rows, "", " ")
		if err == nil {
			err = os.WriteFile(record, append(text, '\n'), 0o644)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}
