package locktest

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Locks with the defects of public bug reports, and of authors who had not seen the kit. Each once
// passed a part of it.

// subscribedLock takes a channel that has one subscriber for its own hold (wolph/portalocker#139).
type subscribedLock struct {
	Config
	sub *redis.PubSub
}

func (l *subscribedLock) subscribers(ctx context.Context) (int64, error) {
	n, err := l.Redis.PubSubNumSub(ctx, l.Key).Result()
	return n[l.Key], err
}

func (l *subscribedLock) TryLock(ctx context.Context) (bool, error) {
	if n, err := l.subscribers(ctx); n != 0 || err != nil {
		return false, err
	}
	sub := l.Redis.Subscribe(ctx, l.Key) // on another connection
	time.Sleep(10 * time.Millisecond)    // bug: stands for the confirmation
	if n, err := l.subscribers(ctx); n != 1 || err != nil {
		_ = sub.Close()
		return false, err
	}
	l.sub = sub // the one that was counted may be another client's
	return true, nil
}

func (l *subscribedLock) Unlock(ctx context.Context) error {
	if l.sub == nil {
		return errGone
	}
	sub := l.sub
	l.sub = nil
	defer sub.Close()
	if err := sub.Unsubscribe(ctx, l.Key); err != nil {
		return err
	}
	for {
		m, err := sub.Receive(ctx)
		if err != nil {
			return err
		}
		if s, ok := m.(*redis.Subscription); ok && s.Kind == "unsubscribe" {
			return nil
		}
	}
}

// stripedLock counts entries in a table of its client, in which two names may share a place
// (spring-projects/spring-integration#11146).
type stripedLock struct {
	plain
	table *stripes
}

type stripes struct {
	mu    sync.Mutex
	holds [256]int
}

func newStriped() factory {
	var all sync.Map // by client
	return func(c Config) (any, error) {
		table, _ := all.LoadOrStore(c.Redis, &stripes{})
		return &stripedLock{plain: plain{owned{Config: c}}, table: table.(*stripes)}, nil
	}
}

func (l *stripedLock) count(n int) int {
	l.table.mu.Lock()
	defer l.table.mu.Unlock()
	h := fnv.New32a()
	_, _ = h.Write([]byte(l.Key))
	place := &l.table.holds[h.Sum32()%256]
	*place += n
	return *place
}

func (l *stripedLock) TryLock(ctx context.Context) (bool, error) {
	ok, err := l.plain.TryLock(ctx)
	if ok {
		l.count(1)
	}
	return ok, err
}

func (l *stripedLock) Unlock(ctx context.Context) error {
	if l.token == "" {
		return errGone
	}
	if l.count(-1) > 0 {
		return nil // bug: takes a hold of another name for an outer one
	}
	return l.plain.Unlock(ctx)
}

// packedLock packs each value in another way, so a release compares with something else
// (madelson/DistributedLock#66, phpredis#1939).
type packedLock struct {
	owned
	says bool // a release that frees nothing answers nil
}

func pack(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Extra = make([]byte, 8)
	_, _ = rand.Read(w.Extra)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func (l *packedLock) TryLock(ctx context.Context) (bool, error) {
	token := l.next()
	ok, err := l.Redis.SetNX(ctx, "p:"+l.Key, pack(token), l.TTL).Result()
	if ok {
		l.token = token
	}
	return ok, err
}

func (l *packedLock) Unlock(ctx context.Context) error {
	err := l.free(ctx, "p:"+l.Key, pack(l.token))
	if l.says && errors.Is(err, errGone) {
		return nil
	}
	return err
}

// bentLock is a correct lock in which functions replace what they name.
type bentLock struct {
	*lock
	tries    func(ctx context.Context, l *lock) (bool, error)
	waits    func(ctx context.Context, l *lock) error
	releases func(ctx context.Context, l *lock) error
}

func (l *bentLock) TryLock(ctx context.Context) (bool, error) {
	if l.tries != nil {
		return l.tries(ctx, l.lock)
	}
	return l.lock.TryLock(ctx)
}

func (l *bentLock) Lock(ctx context.Context) error {
	if l.waits != nil {
		return l.waits(ctx, l.lock)
	}
	return polls(ctx, l.Poll, l.TryLock)
}

func (l *bentLock) Unlock(ctx context.Context) error {
	if l.releases != nil {
		return l.releases(ctx, l.lock)
	}
	return l.lock.Unlock(ctx)
}

func bent(b bentLock) factory {
	return around(func(l *lock) any {
		mine := b
		mine.lock = l
		return &mine
	})
}

// politeRelease sends nothing under a context that has ended, and answers nil.
func politeRelease(ctx context.Context, l *lock) error {
	if ctx.Err() != nil {
		return nil
	}
	return l.Unlock(ctx)
}

// sixtyFour returns the last error of its tries, which is nil after as many refusals.
func sixtyFour(ctx context.Context, l *lock) error {
	var err error
	for range 64 {
		var ok bool
		if ok, err = l.TryLock(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(l.Poll):
		}
	}
	return err
}

// errorIsGrant takes an exception for a grant (sibson/redbeat#208).
func errorIsGrant(ctx context.Context, l *lock) (bool, error) {
	ok, err := l.TryLock(ctx)
	return ok || err != nil, nil
}

// stripsLease asks by GETSET, which takes the holder's lease away (dv/redis-semaphore#39).
func stripsLease(ctx context.Context, l *lock) (bool, error) {
	was, err := l.Redis.GetSet(ctx, l.key(), "held").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return false, err
	}
	if was != "" {
		return false, nil
	}
	l.token = "held"
	return true, l.Redis.PExpire(ctx, l.key(), l.TTL).Err()
}

// overwrites: the loser of a GETSET has overwritten the winner's deadline (kenn/redis-mutex#5).
func overwrites(ctx context.Context, l *lock) (bool, error) {
	value := strconv.FormatInt(time.Now().Add(l.TTL).UnixNano(), 10)
	ok, err := l.Redis.SetNX(ctx, l.key(), value, 0).Result()
	if ok || err != nil {
		l.token = value
		return ok, err
	}
	passed := func(v string) bool {
		end, err := strconv.ParseInt(v, 10, 64)
		return err == nil && end < time.Now().UnixNano()
	}
	found, err := l.Redis.Get(ctx, l.key()).Result()
	if err != nil || !passed(found) {
		return false, ignoreNil(err)
	}
	was, err := l.Redis.GetSet(ctx, l.key(), value).Result()
	if err = ignoreNil(err); err != nil || !passed(was) {
		return false, err
	}
	l.token = value
	return true, nil
}

// crashesOnFree expects the value of a key that was there when it asked
// (steinitzu/celery-singleton#4).
func crashesOnFree(ctx context.Context, l *lock) (bool, error) {
	ok, err := l.TryLock(ctx)
	if ok || err != nil {
		return ok, err
	}
	holder, err := l.Redis.Get(ctx, l.key()).Result()
	if err != nil {
		return false, err
	}
	_ = holder
	return false, nil
}

// startFlushes deletes all locks when a client starts (huey#308).
func startFlushes(c Config) (any, error) {
	c.Redis.Del(context.Background(), c.Key)
	return &lock{Config: c, name: itself}, nil
}

// sleepsOn waits for a message that is not always sent, and returns the plain error of its context.
func sleepsOn(ctx context.Context, l *lock) error {
	if ok, err := l.TryLock(ctx); ok || err != nil {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

// reservedWord takes a value that is a word of its scripts for none, and its owner's name for a
// token.
type reservedWord struct{ plain }

func (l *reservedWord) TryLock(ctx context.Context) (bool, error) {
	l.token = l.Owner
	n, err := eval(ctx, l.Config, `
local v = redis.call('get', KEYS[1])
if v and v ~= 'free' then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1`, []string{l.Key}, l.Owner, l.TTL.Milliseconds())
	return n == 1, err
}

// secondsLater counts in whole seconds when it waits, and when it extends.
type secondsLater struct{ *lock }

func (l secondsLater) Lock(ctx context.Context) error {
	whole := l.TTL
	defer func() { l.TTL = whole }()
	if l.TTL >= time.Second {
		l.TTL = l.TTL.Truncate(time.Second)
	}
	return polls(ctx, l.Poll, l.TryLock)
}

func (l secondsLater) Extend(ctx context.Context) error {
	return l.cas(ctx, `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('expire', KEYS[1], ARGV[2]) end return 0`, l.token, max(1, int(l.TTL.Seconds())))
}

// slotLock is a semaphore whose permits are keys of their own.
type slotLock struct {
	owned
	slot string

	more bool // bug: counts from 0 to the number of permits
}

func (l *slotLock) TryLock(ctx context.Context) (bool, error) {
	n := l.Permits
	if l.more {
		n++
	}
	for i := range n {
		token, slot := l.next(), fmt.Sprint("{", l.Key, "}:", i)
		ok, err := l.Redis.SetNX(ctx, slot, token, l.TTL).Result()
		if ok {
			l.token, l.slot = token, slot
		}
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (l *slotLock) Unlock(ctx context.Context) error {
	if l.slot == "" {
		return errGone
	}
	return released(eval(ctx, l.Config, luaRelease, []string{l.slot}, l.token))
}
