package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/harness"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
	"github.com/lockbench/lockbench/subject"
)

// The exit codes, on which scripts depend.
const (
	exitOK           = 0
	exitViolated     = 1
	exitGate         = 2
	exitInconclusive = 3
	exitUsage        = 4
	exitEnvironment  = 5
	exitInternal     = 70
	exitInterrupted  = 130
)

// The errors of verbs, besides internal ones. The first three are results, which stdout shows
// already.
var (
	errViolated     = errors.New("a property was violated")
	errGate         = errors.New("a performance gate failed")
	errInconclusive = errors.New("inconclusive")
	errUsage        = errors.New("usage")
	errInterrupted  = errors.New("interrupted")
)

// precedence orders the codes when several apply. A usage error mostly comes alone, before anything
// is run; but of several files for check one may be wrong, and a child may break the protocol
// during a run.
var precedence = []int{exitViolated, exitInternal, exitUsage, exitEnvironment, exitInconclusive, exitGate, exitInterrupted}

func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	applies := codes(err)
	for _, code := range precedence {
		if applies[code] {
			return code
		}
	}
	return exitInternal
}

// codes returns the codes of all errors in a tree. A sentinel's code replaces those of the errors
// that it wraps.
func codes(err error) map[int]bool {
	if code, ok := meaning(err); ok {
		return map[int]bool{code: true}
	}
	out := map[int]bool{}
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		known := false
		for _, one := range e.Unwrap() {
			for code := range codes(one) {
				out[code] = true
				known = known || code != exitInternal
			}
		}
		if known && !isJoin(err) {
			delete(out, exitInternal) // fmt.Errorf("%w: %w") says what the other one is
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return codes(inner)
		}
		out[exitInternal] = true
	default:
		out[exitInternal] = true
	}
	return out
}

// isJoin reports whether err joins independent failures, and is not one failure that wraps several
// errors (fmt.Errorf): the text of a join is that of its errors, a line each.
func isJoin(err error) bool {
	join, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return false
	}
	var lines []string
	for _, one := range join.Unwrap() {
		lines = append(lines, one.Error())
	}
	return err.Error() == strings.Join(lines, "\n")
}

// meaning returns the exit code of a sentinel.
func meaning(err error) (int, bool) {
	switch err {
	case errViolated:
		return exitViolated, true
	case errGate:
		return exitGate, true
	case errInconclusive:
		return exitInconclusive, true
	case errUsage, harness.ErrUsage, harness.ErrNotApplicable, servers.ErrAddresses, subject.ErrProtocol:
		return exitUsage, true
	case servers.ErrMissing, servers.ErrRefused, servers.ErrLost, subject.ErrGone, impls.ErrUnsupported:
		return exitEnvironment, true
	case errInterrupted, context.Canceled:
		return exitInterrupted, true
	}
	switch err.(type) {
	case redis.Error: // a server's reply to a command of ours, such as NOPERM
		return exitEnvironment, true
	// a server that stopped; a folder that can't be written, a full disk
	case *net.OpError, *fs.PathError, *os.LinkError, *os.SyscallError:
		if errors.Is(err, syscall.ENAMETOOLONG) {
			return exitUsage, true
		}
		return exitEnvironment, true
	}
	return 0, false
}

// verdictError returns the error for a verdict; nil for a pass.
func verdictError(v checker.Result) error {
	switch v {
	case checker.Pass:
		return nil
	case checker.Fail:
		return errViolated
	}
	return errInconclusive
}

// endError is verdictError of what may fail by its gates alone, and of what may be inconclusive only
// because it was interrupted, which has a code of its own.
func endError(v checker.Result, gatesAlone, interruptAlone bool) error {
	switch {
	case v == checker.Fail && gatesAlone:
		return errGate
	case v == checker.Inconclusive && interruptAlone:
		return nil
	}
	return verdictError(v)
}

const exitCodesHelp = `lockbench exits with

  0    every property held and every gate passed
       (suite: every cell matches its expectation; explore: nothing was found;
       repro: the bug was reproduced; replay: nothing is broken any more)
  1    a property was violated
       (suite: a cell differs from its expectation, or a planted bug was missed;
       explore: a schedule broke the lock; repro: the bug was not reproduced)
  2    a performance gate or regression failed
  3    inconclusive: too few operations, generator too late, part of the history
       not searched, environments differ, a replay that is not what its tape was
  4    usage, scenario or input file wrong
  5    environment: a server, Docker, a fault injector or a command of the
       server is missing, a server stopped, or a file cannot be written
  70   internal error; the run directory is kept
  130  interrupted; what was recorded is kept. A violation that was already
       found still exits 1

When several apply, the first of 1, 70, 4, 5, 3, 2, 130, 0 is taken.`

// lacking collects the errors of turns or cells for which this machine or its servers lacked
// something, the last of each.
type lacking struct {
	mu sync.Mutex // cells run side by side
	of map[string]error
}

// note keeps the error of what, if it is one of the environment, in place of the one before; nil
// forgets it.
func (l *lacking) note(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch exitCode(err) {
	case exitOK:
		delete(l.of, what)
	case exitEnvironment:
		l.of[what] = err
	}
}

// errors returns what is lacking, and of more than three errors how many there are.
func (l *lacking) errors() (all error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, what := range slices.Sorted(maps.Keys(l.of)) {
		one := fmt.Errorf("%s: %w", what, l.of[what])
		if i == 3 {
			return errors.Join(all, fmt.Errorf("%d more: %w", len(l.of)-i, one))
		}
		all = errors.Join(all, one)
	}
	return all
}
