// Command lockbench answers whether a Redis lock keeps its promise, under which faults it breaks, and what it costs.
//
// Each verb is one file. A verb reads its flags, calls the packages that do the work, and writes its result to stdout; everything
// else that is said goes to stderr. No verb exits: it returns an error, and exitcode.go alone turns errors into exit codes.
package main

import (
	"context"
	"crypto/rand"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() { os.Exit(realMain()) }

// realMain lets deferred calls run before the process exits.
func realMain() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	return execute(ctx, os.Args, world{
		out: os.Stdout, err: os.Stderr, now: time.Now, random: rand.Reader, env: os.Getenv, signals: signals,
		outTerminal: term.IsTerminal(int(os.Stdout.Fd())), errTerminal: term.IsTerminal(int(os.Stderr.Fd())),
	})
}
