package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/lockbench/lockbench/servers"
)

func TestExitCode(t *testing.T) {
	unexpected := errors.New("nil map")
	missing := fmt.Errorf("start standalone: %w: redis-server is not on PATH", servers.ErrMissing)
	for _, tt := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing went wrong", nil, 0},
		{"a violation", errViolated, 1},
		{"a gate", errGate, 2},
		{"inconclusive", errInconclusive, 3},
		{"usage, with its reason", fmt.Errorf("%w: %w", errUsage, unexpected), 4},
		{"no server", missing, 5},
		{"a full disk", fmt.Errorf("save: %w", &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}), 5},
		{"a name too long for a file", fmt.Errorf("run directory: %w", &fs.PathError{Op: "mkdir", Path: "x", Err: syscall.ENAMETOOLONG}), 4},
		{"refused", fmt.Errorf("kill: %w", servers.ErrRefused), 5},
		{"anything else", unexpected, 70},
		{"anything else, wrapped", fmt.Errorf("check: %w", unexpected), 70},
		{"interrupted", errInterrupted, 130},
		{"a cancelled context", fmt.Errorf("drive: %w", context.Canceled), 130},
		{"a violation before the interrupt", errors.Join(errViolated, errInterrupted), 1},
		{"inconclusive because interrupted", errors.Join(errInconclusive, errInterrupted), 3},
		{"a violation, and then the harness broke", errors.Join(unexpected, errViolated), 1},
		{"the harness broke, without servers", errors.Join(missing, unexpected), 70},
		{"no server, and a gate", errors.Join(errGate, missing), 5},
		{"a gate, inconclusive", errors.Join(errGate, errInconclusive), 3},
		{"a gate, interrupted", errors.Join(errInterrupted, errGate), 2},
		{"joins within joins", fmt.Errorf("suite: %w", errors.Join(errors.Join(errInterrupted, errViolated), missing)), 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := exitCode(tt.err); got != tt.want {
				t.Errorf("exitCode(%v) = %d, want %d", tt.err, got, tt.want)
			}
		})
	}
}

// TestResultsAreNotSaidTwice: a verdict is on stdout already; an error behind it is said.
func TestResultsAreNotSaidTwice(t *testing.T) {
	for err, want := range map[error]string{
		errViolated: "", errors.Join(errViolated, errInterrupted): "",
		errors.Join(errViolated, errors.New("disk full")): "disk full",
		fmt.Errorf("%w: no such lock", errUsage):          "lockbench: no such lock",
	} {
		err = errors.Join(err, err) // an error that comes twice is said once
		var b strings.Builder
		a := &app{world: world{err: &b}, line: &statusLine{w: &b}, ran: true}
		a.complain(err)
		if got := b.String(); !strings.Contains(got, want) || want == "" && got != "" || strings.Count(got, "\n") > 1 {
			t.Errorf("%v: said %q, want %q", err, got, want)
		}
	}
}

// TestEveryCodeIsExplained keeps the help topic complete.
func TestEveryCodeIsExplained(t *testing.T) {
	for _, code := range append(precedence, exitOK) {
		if !strings.Contains(exitCodesHelp, fmt.Sprintf("\n  %-4d", code)) {
			t.Errorf("code %d is not in the help topic", code)
		}
	}
}
