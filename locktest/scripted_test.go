package locktest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// owned is the part that the locks of these tests have in common: a token for each hold, and keys
// in one hash slot, whose names end as given.
type owned struct {
	Config
	token string
	round int
}

func (l *owned) next() string {
	l.round++
	return fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
}

// run runs a script that returns a number.
func (l *owned) run(ctx context.Context, source string, ends []string, args ...any) (int, error) {
	keys := make([]string, len(ends))
	for i, e := range ends {
		keys[i] = "{" + l.Key + "}" + e
	}
	return eval(ctx, l.Config, source, keys, args...)
}

func eval(ctx context.Context, c Config, source string, keys []string, args ...any) (int, error) {
	return redis.NewScript(source).Run(ctx, c.Redis, keys, args...).Int()
}

// takes sets NX, and keeps the token of a grant.
func (l *owned) takes(ctx context.Context, key string) (bool, error) {
	token := l.next()
	ok, err := l.Redis.SetNX(ctx, key, token, l.TTL).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

// plain is one key with a token.
type plain struct{ owned }

func (l *plain) TryLock(ctx context.Context) (bool, error) { return l.takes(ctx, l.Key) }
func (l *plain) Unlock(ctx context.Context) error          { return l.free(ctx, l.Key, l.token) }

// free releases the key if it has the token.
func (l *owned) free(ctx context.Context, key, token string) error {
	return released(eval(ctx, l.Config, luaRelease, []string{key}, token))
}

// renew starts the lease of the key anew if it has the token.
func (l *owned) renew(ctx context.Context, key, token string) error {
	return released(eval(ctx, l.Config, luaExtend, []string{key}, token, l.TTL.Milliseconds()))
}

// released returns the error for a release script's result.
func released(n int, err error) error {
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

// polls calls try until it is granted, fails, or ctx ends.
func polls(ctx context.Context, every time.Duration, try func(context.Context) (bool, error)) error {
	return pausing(ctx, func() (time.Duration, error) { return every, nil }, try)
}

// pausing polls with pauses that may differ.
func pausing(ctx context.Context, pause func() (time.Duration, error), try func(context.Context) (bool, error)) error {
	for {
		if ok, err := try(ctx); ok || err != nil {
			return err
		}
		d, err := pause()
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d):
		}
	}
}

// listens subscribes to channels of the key's slot, and calls try when it has, when a message
// comes, and now and then, until it is granted, fails, or ctx ends. Its client may keep a list of
// its subscriptions.
func (l *owned) listens(ctx context.Context, ends []string, every time.Duration, late bool, subs *listeners, try func(context.Context) (bool, error)) error {
	channels := make([]string, len(ends))
	for i, e := range ends {
		channels[i] = "{" + l.Key + "}" + e
	}
	sub := l.Redis.Subscribe(ctx, channels...)
	subs.add(sub)
	defer subs.leave(sub)
	for range channels {
		if _, err := sub.Receive(ctx); err != nil {
			return errors.Join(err, ctx.Err())
		}
	}
	for messages := sub.Channel(); ; late = false {
		if !late {
			if ok, err := try(ctx); ok || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open := <-messages:
			if !open {
				messages = nil
			}
		case <-time.After(every):
		}
	}
}

// scripted is a lock by scripts.
type scripted struct {
	owned
	ends []string // of its keys
	// take gets the token, the lease in milliseconds, and "wait" or "try"; it returns 0 for a
	// refusal, or a fence
	take, free string
	more       string // extends; it gets the token and the lease
	fence      uint64
	fences     func(n int) uint64 // of what take returned; nil: as it is
	stays      bool               // bug: who gives up waiting does not call free
}

func (l *scripted) ask(ctx context.Context, token, how string) (bool, error) {
	n, err := l.run(ctx, l.take, l.ends, token, l.TTL.Milliseconds(), how)
	if n > 0 {
		l.token, l.fence = token, uint64(n)
		if l.fences != nil {
			l.fence = l.fences(n)
		}
	}
	return n > 0, err
}

func (l *scripted) TryLock(ctx context.Context) (bool, error) { return l.ask(ctx, l.next(), "try") }

func (l *scripted) Unlock(ctx context.Context) error {
	return released(l.run(ctx, l.free, l.ends, l.token, l.TTL.Milliseconds()))
}

// wait asks with one token until it is granted, and takes it back if it gives up.
func (l *scripted) wait(ctx context.Context) error {
	token := l.next()
	err := polls(ctx, l.Poll, func(ctx context.Context) (bool, error) { return l.ask(ctx, token, "wait") })
	if err != nil && !l.stays {
		leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
		defer cancel()
		_, _ = l.run(leave, l.free, l.ends, token, l.TTL.Milliseconds())
	}
	return err
}

func (l *scripted) extend(ctx context.Context) error {
	return released(l.run(ctx, l.more, l.ends, l.token, l.TTL.Milliseconds()))
}

// The scripted locks with more methods.
type (
	lined    struct{ *scripted } // waits in a line that the server keeps
	lasts    struct{ lined }     // and extends
	counting struct{ *scripted } // counts its grants
	ticket   struct{ lasts }
)

func (l lined) Lock(ctx context.Context) error   { return l.wait(ctx) }
func (l lasts) Extend(ctx context.Context) error { return l.extend(ctx) }
func (l counting) Fence() uint64                 { return l.fence }
func (l ticket) Fence() uint64                   { return l.fence }

// by makes a factory of a scripted lock, which shape gives its methods; nil: those of a scripted.
func by(s scripted, shape func(*scripted) any) factory {
	return func(c Config) (any, error) {
		l := s
		l.Config = c
		if shape == nil {
			return &l, nil
		}
		return shape(&l), nil
	}
}

func inLine(l *scripted) any  { return lined{l} }
func lasting(l *scripted) any { return lasts{lined{l}} }
func counted(l *scripted) any { return counting{l} }
func tickets(l *scripted) any { return ticket{lasts{lined{l}}} }

// ignoreNil is for replies in which nil is an answer.
func ignoreNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return nil
	}
	return err
}
