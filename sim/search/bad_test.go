package search

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/internal/upstream"
)

// withBad has the catalogue and locks that crash or hang their process.
type withBad struct{ catalogue.Known }

func (withBad) Find(name string) (impls.Variant, bool) {
	if slices.Contains(servants, name) {
		return impls.Variant{Name: name, Kind: history.Mutex, Topology: impls.Standalone,
			Traits: impls.Traits{SelfRenewing: strings.HasPrefix(name, "renews")}, New: newServant(name)}, true
	}
	if harm, ok := harms[name]; ok {
		return impls.Variant{Name: name, Kind: history.Mutex, Topology: impls.Standalone, New: func(impls.Env) (impls.Lock, error) {
			return badLock{harm}, nil
		}}, true
	}
	return catalogue.Find(name)
}

// harms lists what bad locks do when they are acquired.
var harms = map[string]func(){
	"panics":   func() { panic("the lock is broken") },
	"crashes":  func() { go func() { panic("a goroutine of the lock is broken") }(); time.Sleep(time.Second) },
	"spins":    spin,
	"leaves":   func() { go func() { select {} }() },
	"deadlock": func() { select {} },
	"locks":    lockTwice,
	"queues":   queue,
	"selects":  selects,
	"registry": func() { <-ofTheProcess() },
}

// ofTheProcess returns a channel that the first caller of a process makes, in its bubble.
var ofTheProcess = sync.OnceValue(func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
})

// lockTwice deadlocks on its own mutex.
func lockTwice() {
	var mu sync.Mutex
	mu.Lock()
	mu.Lock()
}

// queue waits for a mutex that another goroutine holds until time has passed.
func queue() {
	var mu sync.Mutex
	mu.Lock()
	time.AfterFunc(time.Second, mu.Unlock)
	mu.Lock()
}

// selects waits for a mutex that its own goroutine holds until time has passed.
func selects() {
	var mu sync.Mutex
	mu.Lock()
	go func() {
		<-time.After(time.Second)
		mu.Unlock()
	}()
	mu.Lock()
}

// spin never ends, and no compiler can detect it.
func spin() {
	for n := uint64(1); n != 0; n |= 1 {
		n *= 3
	}
}

// badLock grants everything and does harm.
type badLock struct{ harm func() }

func (l badLock) Try(context.Context, history.Mode) (impls.Grant, error) {
	l.harm()
	return impls.Grant{}, nil
}
func (l badLock) Acquire(context.Context, history.Mode) (impls.Grant, error) {
	l.harm()
	return impls.Grant{}, nil
}
func (badLock) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, impls.ErrUnsupported
}
func (badLock) Release(context.Context) error { return nil }
func (badLock) Close() error                  { return nil }

func TestMain(m *testing.M) {
	if IsWorker() {
		os.Exit(WorkerMain(os.Stdin, os.Stdout, withBad{}))
	}
	upstream.SilenceRedisLog()
	goleak.VerifyTestMain(m)
}
