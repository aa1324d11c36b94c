package locktest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"time"
	"unicode"
)

// waitingLock has only Lock and Unlock.
type waitingLock struct {
	l *lock

	every  time.Duration // the poll interval; 0: Config.Poll
	tries  int           // gives up after this many tries; 0: never
	goesOn bool          // bug: a waiter that gave up keeps trying
	sleeps bool          // bug: doubles its pauses, and does not hear its context in them
	tires  bool          // bug: doubles its pauses without end
}

func (w waitingLock) Lock(ctx context.Context) error {
	every := w.every
	if every == 0 {
		every = w.l.Poll
	}
	for n := 1; ; n++ {
		ok, err := w.l.TryLock(ctx)
		switch {
		case ok:
			return nil
		case err != nil:
			return w.ended(ctx, err)
		case n == w.tries:
			return errTakenByAnother
		}
		if w.tires {
			every = w.l.TTL / 64 << min(n, 16)
		}
		switch {
		case w.sleeps:
			time.Sleep(min(w.l.TTL/64<<n, w.l.TTL/2))
			if ctx.Err() != nil {
				return ctx.Err()
			}
			continue
		case w.l.spins:
			continue
		case w.l.deaf:
			time.Sleep(every)
			ctx = context.WithoutCancel(ctx)
			continue
		}
		select {
		case <-ctx.Done():
			return w.ended(ctx, ctx.Err())
		case <-time.After(every):
		}
	}
}

// ended returns the error of a wait that ended without the lock; a context may end during a try,
// too.
func (w waitingLock) ended(ctx context.Context, err error) error {
	if w.goesOn && ctx.Err() != nil {
		go func() { _ = w.Lock(context.WithoutCancel(ctx)) }()
	}
	return err
}

func (w waitingLock) Unlock(ctx context.Context) error { return w.l.Unlock(ctx) }
func (w waitingLock) Close() error                     { return w.l.Close() }

func newWaiting(change func(*lock), more ...func(*waitingLock)) factory {
	inner := newTestLock(change)
	return func(c Config) (any, error) {
		l, err := inner(c)
		w := waitingLock{l: l.(*lock)}
		for _, m := range more {
			m(&w)
		}
		return w, err
	}
}

// timedLock states its valid-until, and extends.
type timedLock struct {
	*lock
	until time.Time

	fromReply bool // bug: counts from the reply
	plain     bool // bug: extends whatever key is there
	hopes     bool // bug: counts the lease anew when an extend was refused
	adds      bool // bug: adds a lease to what is left
	apart     bool // bug: compares in one request and extends in another

	local  bool // bug: trusts its own deadline, and extends whatever key is there
	sums   bool // bug: adds a lease to the validity
	ahead  bool // bug: counts the lease anew before it asks
	rounds bool // to whole milliseconds, down
}

func (l *timedLock) TryLock(ctx context.Context) (bool, error) {
	begin := time.Now()
	ok, err := l.lock.TryLock(ctx)
	if ok {
		l.count(begin)
		if !time.Now().Before(l.until) { // the reply came too late
			_ = l.lock.Unlock(context.WithoutCancel(ctx))
			return false, errTooLate
		}
	}
	return ok, err
}

func (l *timedLock) count(begin time.Time) {
	if l.fromReply {
		begin = time.Now()
	}
	l.until = begin.Add(l.TTL)
	if l.rounds {
		l.until = l.until.Truncate(time.Millisecond)
	}
}

func (l *timedLock) ValidUntil() time.Time { return l.until }

func (l *timedLock) Extend(ctx context.Context) (err error) {
	begin := time.Now()
	if l.ahead {
		l.count(begin)
	}
	switch {
	case l.local && !begin.Before(l.until):
		return errGone
	case l.plain, l.local:
		var ok bool
		if ok, err = l.Redis.PExpire(ctx, l.key(), l.TTL).Result(); err == nil && !ok {
			err = errGone
		}
	case l.apart:
		if err = l.owns(ctx, l.token); err == nil {
			err = l.Redis.PExpire(ctx, l.key(), l.TTL).Err()
		}

	case l.adds:
		left := l.Redis.PTTL(ctx, l.key()).Val()
		err = l.cas(ctx, luaExtend, l.token, (left + l.TTL).Milliseconds())
	default:
		err = l.cas(ctx, luaExtend, l.token, l.TTL.Milliseconds())
	}
	switch {
	case err == nil && l.sums:
		l.until = l.until.Add(l.TTL)
	case err == nil || l.hopes:
		l.count(begin)
	}
	return err
}

func newTimed(change func(*timedLock)) factory {
	return around(func(l *lock) any {
		t := &timedLock{lock: l}
		change(t)
		return t
	})
}

// registry is a library whose holds are found by their tokens.
type registry struct {
	plain
	holds map[string]bool
}

func (r *registry) TryLock(ctx context.Context) (bool, error) {
	ok, err := r.plain.TryLock(ctx)
	if ok {
		r.holds[r.token] = true
	}
	return ok, err
}

func (r *registry) Unlock(ctx context.Context) error {
	if !r.holds[r.token] {
		return errGone
	}
	delete(r.holds, r.token)
	return r.plain.Unlock(ctx)
}

func sha(s string) string {
	sum := sha1.Sum([]byte(s))
	return "lock:" + hex.EncodeToString(sum[:])
}

func crc(s string) string { return fmt.Sprintf("lock:%08x", crc32.ChecksumIEEE([]byte(s))) }

func fnv1a(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return fmt.Sprintf("lock:%d", h.Sum32())
}

// asciiOnly leaves out every character that is not of ASCII.
func asciiOnly(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1
		}
		return r
	}, s)
}

// slug replaces punctuation and spaces, as for a file name.
func slug(s string) string { return strings.NewReplacer(":", "_", " ", "_", "|", "_").Replace(s) }

// dashes replaces dots, as for a name in DNS.
func dashes(s string) string { return strings.ReplaceAll(s, ".", "-") }

// undotted leaves dots out.
func undotted(s string) string { return strings.ReplaceAll(s, ".", "") }

func places(s string) string { return fmt.Sprintf("lock:%d", crc32.ChecksumIEEE([]byte(s))%16384) }
