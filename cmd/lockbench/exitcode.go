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
	applies := map[int]bool{}
	for _, one := range separate(err) {
		applies[codeOf(one)] = true
	}
	return precedence[slices.IndexFunc(precedence, func(code int) bool { return applies[code] })]
}

// codeOf returns the first code, by precedence, of those that one failure has.
func codeOf(err error) int {
	is := func(any ...error) bool {
		return slices.ContainsFunc(any, func(one error) bool { return errors.Is(err, one) })
	}
	// a server's reply to a command of ours, such as NOPERM; a server that stopped; a folder that
	// can't be written, a full disk
	var (
		reply   redis.Error
		network *net.OpError
		file    *fs.PathError
		link    *os.LinkError
		call    *os.SyscallError
	)
	switch {
	case is(errViolated):
		return exitViolated
	case is(errUsage, harness.ErrUsage, harness.ErrNotApplicable, servers.ErrAddresses, subject.ErrProtocol, syscall.ENAMETOOLONG):
		return exitUsage
	case is(servers.ErrMissing, servers.ErrRefused, servers.ErrLost, subject.ErrGone, impls.ErrUnsupported),
		errors.As(err, &reply), errors.As(err, &network), errors.As(err, &file), errors.As(err, &link), errors.As(err, &call):
		return exitEnvironment
	case is(errInconclusive):
		return exitInconclusive
	case is(errGate):
		return exitGate
	case is(errInterrupted, context.Canceled):
		return exitInterrupted
	}
	return exitInternal
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

// lacking joins what the environment lacked for turns or cells, by their names, and of more than
// three errors says how many there are.
func lacking(of map[string]error) (all error) {
	for i, what := range slices.Sorted(maps.Keys(of)) {
		one := fmt.Errorf("%s: %w", what, of[what])
		if i == 3 {
			return errors.Join(all, fmt.Errorf("%d more: %w", len(of)-i, one))
		}
		all = errors.Join(all, one)
	}
	return all
}
