package main

import (
	"context"
	"errors"
	"time"

	rlock "github.com/gotomicro/redis-lock"

	"github.com/lockbench/lockbench/subject"
)

// gotomicroLock is gotomicro/redis-lock, whose waiters poll.
type gotomicroLock struct {
	cfg    subject.Config
	client *rlock.Client
	held   *rlock.Lock
}

func newGotomicroLock(c subject.Config) (any, error) {
	return &gotomicroLock{cfg: c, client: rlock.NewClient(c.Redis)}, nil
}

func (l *gotomicroLock) Lock(ctx context.Context) (err error) {
	retry := &rlock.FixIntervalRetry{Interval: l.cfg.Poll, Max: int(time.Hour / max(l.cfg.Poll, time.Millisecond))}
	l.held, err = l.client.Lock(ctx, l.cfg.Key, l.cfg.TTL, retry, l.cfg.TTL)
	return err
}

func (l *gotomicroLock) TryLock(ctx context.Context) (bool, error) {
	held, err := l.client.TryLock(ctx, l.cfg.Key, l.cfg.TTL)
	if errors.Is(err, rlock.ErrFailedToPreemptLock) {
		return false, nil
	}
	l.held = held
	return err == nil, err
}

func (l *gotomicroLock) Extend(ctx context.Context) error { return l.held.Refresh(ctx) }

func (l *gotomicroLock) Unlock(ctx context.Context) error { return l.held.Unlock(ctx) }

func (l *gotomicroLock) Describe() subject.Description {
	return subject.Description{Name: "gotomicro", Can: []string{"extend"}}
}
