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

// maker makes a handle with the interface of package impls.
type maker func(env impls.Env) (impls.Lock, error)

// maker returns the variant's constructor, or adapts what the factory makes.
func (cfg config) maker(newLock factory) maker {
	if cfg.newLock != nil {
		return cfg.newLock
	}
	return func(env impls.Env) (impls.Lock, error) {
		sc := configOf(env)
		lock, err := newLock(sc)
		if err != nil {
			return nil, err
		}
		return subject.Adapt(lock, sc)
	}
}

// configOf returns the part of an environment that a factory gets.
func configOf(env impls.Env) Config {
	return Config{Redis: env.Redis(), Nodes: env.Nodes, Addrs: env.Addrs, Dial: env.Dial, Key: env.Key, TTL: env.Lease, Poll: env.Poll, Owner: env.Owner,
		Permits: max(env.Permits, 1)}
}

// shape makes one lock and adds to the config what its methods show.
func (cfg config) shape(newLock factory, sc Config) (config, impls.Lock, error) {
	if cfg.Variant {
		return cfg, nil, nil
	}
	if newLock == nil {
		return cfg, nil, errors.New("a factory is nil and no Variant is given")
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
	shown := subject.TraitsOf(lock) // the others are promised
	cfg.Traits.Extends, cfg.Traits.UniqueToken, cfg.Traits.Fenced = shown.Extends, shown.UniqueToken, shown.Fenced
	cfg.Traits.Validity, cfg.Traits.NotifiesLoss, cfg.Traits.Shared = shown.Validity, shown.NotifiesLoss, shown.Shared
	return cfg, handle, nil
}
