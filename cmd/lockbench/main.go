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

	"github.com/redis/go-redis/v9"
	"golang.org/x/term"

	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/sim/search"
)

func main() { os.Exit(realMain()) }

// realMain lets deferred calls run before the process exits.
func realMain() int {
	redis.SetLogger(silence{}) // global state of that library
	if lock := os.Getenv(harness.ClientVariable); lock != "" {
		return clientMain(lock)
	}
	if search.IsWorker() {
		return search.WorkerMain(os.Stdin, os.Stdout, catalogue.Known{})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	columns, _, _ := term.GetSize(int(os.Stderr.Fd())) // 0 when it is no terminal
	return execute(ctx, os.Args, world{
		out: os.Stdout, err: os.Stderr, now: time.Now, random: rand.Reader, env: os.Getenv, notify: notify, quit: os.Exit,
		providers: providers, runner: harness.Run, suiteRunner: harness.Suite, explorer: search.Explore,
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())), errTerminal: term.IsTerminal(int(os.Stderr.Fd())), columns: columns,
	})
}

// notify takes over the signals that end a process.
func notify() (<-chan os.Signal, func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return signals, func() { signal.Stop(signals) }
}

// clientMain runs the program as the lock of one client of another lockbench, which tells it when
// to stop: an interrupt goes to all processes of a job.
func clientMain(lock string) int {
	signal.Ignore(os.Interrupt)
	if err := harness.ClientMain(lock); err != nil {
		fmt.Fprintln(os.Stderr, "lockbench client:", err)
		return exitInternal
	}
	return exitOK
}

func thisMachine() results.Machine {
	build, _ := debug.ReadBuildInfo()
	return results.Machine{Root: os.DirFS("/"), Build: build, Dir: "."}
}

// silence drops what the Redis client would print on stderr: lost connections are part of most
// runs, and each is recorded.
type silence struct{}

// Printf drops the message.
func (silence) Printf(context.Context, string, ...any) {}
