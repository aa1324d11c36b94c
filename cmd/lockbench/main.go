// Command lockbench answers whether a Redis lock keeps its promise, under which faults it breaks,
// and what it costs.
//
// Each verb is one file. A verb reads its flags, calls the packages that do the work, and writes
// its result to stdout and everything else to stderr. No verb exits: it returns an error, and
// exitcode.go maps errors to exit codes.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/upstream"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim/search"
)

func main() { os.Exit(realMain()) }

// realMain lets deferred calls run before the process exits.
func realMain() int {
	upstream.SilenceRedisLog()
	if lock := os.Getenv(harness.ClientVariable); lock != "" { // the lock of one client of another lockbench, which tells it when to stop
		signal.Ignore(os.Interrupt) // which goes to all processes of a job
		if err := harness.ClientMain(lock); err != nil {
			fmt.Fprintln(os.Stderr, "lockbench client:", err)
			return exitInternal
		}
		return exitOK
	}
	if search.IsWorker() {
		return search.WorkerMain(os.Stdin, os.Stdout, catalogue.Known{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	columns, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 when it is no terminal
	return execute(ctx, os.Args, world{
		out: os.Stdout, err: os.Stderr, now: time.Now, random: rand.Reader, env: os.Getenv, quit: os.Exit,
		notify: func() (<-chan os.Signal, func()) {
			signals := make(chan os.Signal, 2)
			signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			return signals, func() { signal.Stop(signals) }
		},
		providers: providers, runner: harness.Run, suiteRunner: harness.Suite, explorer: search.Explore,
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())), errTerminal: term.IsTerminal(int(os.Stderr.Fd())), columns: columns,
	})
}

func thisMachine() results.Machine {
	build, _ := debug.ReadBuildInfo()
	return results.Machine{Root: os.DirFS("/"), Build: build, Dir: "."}
}

// version is the release's, set by the linker (-X main.version=…, see the Makefile) and by nothing
// else; "" in any other build.
var version string

// build is the program's version, and with -o json what --version prints.
type build struct {
	Schema   string `json:"schema"`
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"` // that it was built from; not known of go install
	Changed  bool   `json:"changed"`          // the checkout had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newBuild(linked string, info *debug.BuildInfo) build {
	e := results.CaptureEnvironment(context.Background(), results.Machine{Build: info})
	return build{"lockbench/version/v1", linkedVersion(linked, info), e.Git, e.Git != "" && e.Dirty, e.Go, e.Platform}
}

// String is what --version prints: the version, the commit it was built from, the Go release and
// the platform.
func (b build) String() string {
	from := ""
	if b.Commit != "" {
		from = "commit " + b.Commit
	}
	if b.Changed {
		from += " with changes"
	}
	return "lockbench " + facts(b.Version, from, b.Go, b.Platform)
}

// linkedVersion is the linker's, or else the module's: of go install, or one that go build made of
// the checkout.
func linkedVersion(linked string, info *debug.BuildInfo) string {
	switch {
	case linked != "":
		return linked
	case info != nil && info.Main.Version != "":
		return info.Main.Version
	}
	return "(devel)"
}
