package locktest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// outsideBugs are wrong locks of an author who knew the kit by its documentation alone, and which
// it once missed.
func outsideBugs() []plantedBug {
	return []plantedBug{

		caught("names go through JSON", newTestLock(func(l *lock) { l.name = asJSON }), "names-apart", "valid UTF-8"),
		caught("names end at a question mark", newTestLock(func(l *lock) { l.name = upTo("?") }), "names-apart", `what is before "?"`),
		caught("names begin behind the last colon", newTestLock(func(l *lock) { l.name = behind(":") }), "names-apart", `what is behind ":"`),
		caught("names lose their slashes at the ends", newTestLock(func(l *lock) { l.name = func(s string) string { return strings.Trim(s, "/") } }), "names-apart", `trimming of "/"`),
		caught("an extend trusts the client's own deadline", newTimed(func(l *timedLock) { l.local = true }), "late-extend", "the keys were deleted; b holds; b dies; 1/2 of a lease passes; a calls an extend"),
		caught("the validity of an extend is added up", newTimed(func(l *timedLock) { l.sums = true }), "valid-until", "a.Extend returned, and a.ValidUntil is 3.75s"),
		caught("an extend counts before it is answered", newTimed(func(l *timedLock) { l.ahead = true }), "valid-until", "its extend at 500ms failed"),
		caught("the validity of a waiter is counted from the reply", around(func(l *lock) any { return lateCount{&timedLock{lock: l}} }), "valid-until", "a.Lock, which had waited, returned, and a.ValidUntil is 1s after"),
		caught("a token is another whenever it is read", around(func(l *lock) any { return &freshToken{lock: l} }), "unique-tokens", "and its token is"),
		caught("the watchdog has a lease of its own", newTestLock(func(l *lock) { l.renew, l.renewsFor = true, 30*time.Second }), "lease-ends", "2 leases pass; late dies"),
		caught("watchdogs are found by the name of the lock", newByName(), "renews", "b calls a release; a has worked"),
		caught("a Close leaves the watchdog running", around(func(l *lock) any { l.renew = true; return deafClose{l} }), "closes", "next holds; next is closed"),
		caught("a Close deletes the key", around(func(l *lock) any { return deletingClose{l} }), "closes", "b's key job was deleted by a.Close (DEL job)"),
		caught("a release hands over what is left of its lease", by(handing(), inLine), "lease-lasts", "w had waited"),
		caught("fences are counted after the grant", func(c Config) (any, error) { return &twoStep{plain: plain{owned{Config: c}}}, nil }, "between-requests", "was on its way for a lease; b was granted fence"),
		caught("who gives up leaves the note that it waits", around(func(l *lock) any { return notingLock{l} }), "clean", "waiter:w is left"),
	}
}

func asJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func upTo(end string) func(string) string {
	return func(s string) string { s, _, _ = strings.Cut(s, end); return s }
}

func behind(begin string) func(string) string {
	return func(s string) string { return s[strings.LastIndex(s, begin)+1:] }
}

// freshToken makes up a token for every question.
type freshToken struct {
	*lock
	asked int
}

func (l *freshToken) Token() string {
	l.asked++
	return fmt.Sprint(l.token, "-", l.asked)
}

// lateCount waits, and counts its lease from the last reply.
type lateCount struct{ *timedLock }

func (l lateCount) Lock(ctx context.Context) error {
	err := polls(ctx, l.Poll, l.timedLock.TryLock)
	if err == nil {
		l.until = time.Now().Add(l.TTL)
	}
	return err
}

// deafClose has a Close that does nothing.
type deafClose struct{ *lock }

func (deafClose) Close() error { return nil }

// deletingClose has a Close that frees whatever is there.
type deletingClose struct{ *lock }

func (l deletingClose) Close() error { return l.Redis.Del(context.Background(), l.key()).Err() }

// notingLock has a note of each waiter, which only a grant takes away.
type notingLock struct{ *lock }

func (l notingLock) Lock(ctx context.Context) error {
	note := l.key() + ":waiter:" + l.Owner
	if err := l.Redis.Set(ctx, note, "waits", 0).Err(); err != nil {
		return err
	}
	if err := polls(ctx, l.Poll, l.TryLock); err != nil {
		return err
	}
	return l.Redis.Del(ctx, note).Err()
}

// byName is a lock whose watchdog is stopped by whoever releases a lock of its name.
type byName struct {
	*lock
	all *named
}

type named struct {
	mu   sync.Mutex // clients
	dogs map[string]*lock
}

func newByName() factory {
	all := &named{dogs: map[string]*lock{}}
	return around(func(l *lock) any { l.renew = true; return byName{l, all} })
}

func (l byName) TryLock(ctx context.Context) (bool, error) {
	ok, err := l.lock.TryLock(ctx)
	if ok {
		l.all.mu.Lock()
		defer l.all.mu.Unlock()
		l.all.dogs[l.Key] = l.lock
	}
	return ok, err
}

func (l byName) Unlock(ctx context.Context) error {
	l.all.mu.Lock()
	if other := l.all.dogs[l.Key]; other != nil {
		other.disarm()
	}
	maps.DeleteFunc(l.all.dogs, func(name string, _ *lock) bool { return name == l.Key })
	l.all.mu.Unlock()
	return l.lock.Unlock(ctx)
}
