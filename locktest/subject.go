package locktest

import (
	"errors"
	"fmt"
	"io"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

// factory makes one client's handle for the lock that the Config names.
type factory = subject.Factory

// maker makes a handle with the interface of package impls, and reports whether the lock returns
// its errors.
type maker func(env impls.Env) (l impls.Lock, exact bool, err error)

// maker returns the variant's constructor, or adapts what the factory makes.
func (cfg config) maker(newLock factory) maker {
	if cfg.newLock != nil {
		return func(env impls.Env) (impls.Lock, bool, error) {
			l, err := cfg.newLock(env)
			return l, true, err
		}
	}
	return func(env impls.Env) (impls.Lock, bool, error) {
		sc := configOf(env)
		lock, err := newLock(sc)
		if err != nil {
			return nil, false, err
		}
		l, err := subject.Adapt(lock, sc)
		_, exact := lock.(impls.Lock)
		return l, exact, err
	}
}

// configOf returns the part of an environment that a factory gets.
func configOf(env impls.Env) Config {
	return Config{Redis: env.Redis(), Nodes: env.Nodes, Addrs: env.Addrs, Dial: env.Dial, Key: env.Key, TTL: env.Lease, Poll: env.Poll, Owner: env.Owner,
		Permits: max(env.Permits, 1)}
}

// errNoFactory: neither a factory nor a variant was given.
var errNoFactory = errors.New("a factory is nil and no Variant is given")

// shape makes one lock and adds to the config what its methods show.
func (cfg config) shape(newLock factory, sc Config) (config, impls.Lock, error) {
	if cfg.Variant {
		return cfg, nil, nil
	}
	if newLock == nil {
		return cfg, nil, errNoFactory
	}
	lock, err := newLock(sc)
	if err != nil {
		return cfg, nil, fmt.Errorf("the factory: %w", err)
	}
	handle, err := subject.Adapt(lock, sc)
	if err != nil {
		return cfg, nil, err
	}
	_, cfg.Variant = lock.(impls.Lock)
	_, cfg.Closes = lock.(io.Closer)
	_, cfg.Waits = lock.(subject.Locker)
	_, cfg.Tries = lock.(subject.TryLocker)
	_, cfg.ReadersWait = lock.(subject.SharedLocker)
	_, cfg.ReadersTry = lock.(subject.SharedTryLocker)
	shown, promised := subject.TraitsOf(lock), cfg.Traits
	cfg.Traits = shown
	cfg.Traits.Reentrant, cfg.Traits.SelfRenewing, cfg.Traits.FIFO = promised.Reentrant, promised.SelfRenewing, promised.FIFO
	cfg.Traits.Wakeups, cfg.Traits.WritersFirst = promised.Wakeups, promised.WritersFirst
	cfg.Traits.Repeatable, cfg.Traits.NoLease, cfg.Traits.Permits = promised.Repeatable, promised.NoLease, promised.Permits
	return cfg, handle, nil
}
