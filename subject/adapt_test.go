package subject_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/subject"
)

var errLibrary = errors.New("the library's own error")

// local is a lock in memory that returns what a test sets.
type local struct {
	held      bool
	lockErr   error
	unlockErr error
}

func (l *local) TryLock(context.Context) (bool, error) {
	if l.lockErr != nil || l.held {
		return false, l.lockErr
	}
	l.held = true
	return true, nil
}

func (l *local) Unlock(context.Context) error {
	if l.unlockErr == nil && !l.held {
		return errLibrary
	}
	l.held = false
	return l.unlockErr
}

// waiting is a lock that can only wait.
type waiting struct{ inner *local }

func (w waiting) Lock(ctx context.Context) error {
	for {
		if ok, err := w.inner.TryLock(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func (w waiting) Unlock(ctx context.Context) error { return w.inner.Unlock(ctx) }

// rich is a lock with every optional interface.
type rich struct {
	local
	lost  chan struct{}
	until time.Time
}

func (*rich) Extend(context.Context) error  { return errLibrary }
func (*rich) Token() string                 { return "t" }
func (*rich) Fence() uint64                 { return 7 }
func (r *rich) ValidUntil() time.Time       { return r.until }
func (r *rich) Lost() <-chan struct{}       { return r.lost }
func (*rich) RLock(context.Context) error   { return nil }
func (*rich) RUnlock(context.Context) error { return nil }

// tryShared is a lock whose readers can only try.
type tryShared struct {
	local
	readers int
}

func (l *tryShared) TryRLock(context.Context) (bool, error) {
	if l.lockErr != nil || l.held {
		return false, l.lockErr
	}
	l.readers++
	return true, nil
}

func (l *tryShared) RUnlock(context.Context) error {
	if l.readers == 0 {
		return errLibrary
	}
	l.readers--
	return nil
}

func adapt(t *testing.T, lock any) impls.Lock {
	t.Helper()
	l, err := subject.Adapt(lock, subject.Config{Key: "k", TTL: 100 * time.Millisecond, Poll: time.Millisecond})
	must(t, err)
	return l
}

func TestAdaptOutcomes(t *testing.T) {
	for _, row := range []struct {
		name string
		lock any
		call func(impls.Lock) error
		want error
	}{
		{"a try of a held lock is busy", &local{held: true}, try, impls.ErrBusy},
		{"so is one of a lock that can only wait", waiting{&local{held: true}}, try, impls.ErrBusy},
		{"a wait that runs out is cancelled", &local{held: true}, acquire, impls.ErrCancelled},
		{"so is one of a lock that waits by itself", waiting{&local{held: true}}, acquire, impls.ErrCancelled},
		{"an error of an acquire that says nothing leaves it open", &local{lockErr: errLibrary}, try, impls.ErrUnknownOutcome},
		{"a sentinel is passed on", &local{lockErr: impls.ErrUnavailable}, try, impls.ErrUnavailable},
		{"a release without a hold that the lock refuses is not held", &local{}, release, impls.ErrNotHeld},
		{"a release of a hold that the lock refuses is lost", &local{unlockErr: errLibrary}, tryAndRelease, impls.ErrLost},
		{"a release that the network failed is unknown", &local{unlockErr: io.EOF}, tryAndRelease, impls.ErrUnknownOutcome},
		{"so is one written to a connection that was closed meanwhile", &local{unlockErr: io.ErrClosedPipe}, tryAndRelease, impls.ErrUnknownOutcome},
		{"a lock without Extend cannot extend", &local{}, extend, impls.ErrUnsupported},
		{"a lock without RLock and TryRLock has no readers", waiting{&local{}}, share, impls.ErrUnsupported},
		{"nor can they try", waiting{&local{}}, tryShare, impls.ErrUnsupported},
		{"a lock with TryRLock has readers", &tryShared{}, tryShare, nil},
		{"who wait by trying", &tryShared{}, share, nil},
		{"who leave by RUnlock", &tryShared{}, shareAndRelease, nil},
		{"and are refused by a writer", &tryShared{local: local{held: true}}, tryShare, impls.ErrBusy},
		{"a reader's wait that runs out is cancelled", &tryShared{local: local{held: true}}, shareShortly, impls.ErrCancelled},
		{"an error of a reader's that says nothing leaves it open", &tryShared{local: local{lockErr: errLibrary}}, tryShare, impls.ErrUnknownOutcome},
		{"an extend of a hold that the lock refuses is lost", &rich{}, tryAndExtend, impls.ErrLost},
	} {
		if err := row.call(adapt(t, row.lock)); !errors.Is(err, row.want) {
			t.Errorf("%s: got %v, want %v", row.name, err, row.want)
		}
	}
}

func try(l impls.Lock) error      { _, err := l.Try(context.Background(), history.Exclusive); return err }
func share(l impls.Lock) error    { _, err := l.Acquire(context.Background(), history.Shared); return err }
func tryShare(l impls.Lock) error { _, err := l.Try(context.Background(), history.Shared); return err }
func release(l impls.Lock) error  { return l.Release(context.Background()) }
func extend(l impls.Lock) error   { _, err := l.Extend(context.Background()); return err }

func acquire(l impls.Lock) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, history.Exclusive)
	return err
}

func shareShortly(l impls.Lock) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := l.Acquire(ctx, history.Shared)
	return err
}

func shareAndRelease(l impls.Lock) error { return errors.Join(share(l), release(l)) }

func tryAndRelease(l impls.Lock) error { return errors.Join(try(l), release(l)) }
func tryAndExtend(l impls.Lock) error  { return errors.Join(try(l), extend(l)) }

func TestAdaptGrant(t *testing.T) {
	until, lost := time.Now().Add(time.Minute), make(chan struct{})
	g, err := adapt(t, &rich{lost: lost, until: until}).Try(context.Background(), history.Exclusive)
	if err != nil || g.Token != "t" || g.Fence != 7 || !g.ValidUntil.Equal(until) || g.Lost != (<-chan struct{})(lost) {
		t.Errorf("got %+v, %v", g, err)
	}
	want := impls.Traits{Extends: true, UniqueToken: true, Fenced: true, Validity: true, NotifiesLoss: true, Shared: true}
	if got := subject.TraitsOf(&rich{}); got != want {
		t.Errorf("traits %+v, want %+v", got, want)
	}
	if got := subject.TraitsOf(&tryShared{}); got != (impls.Traits{Shared: true}) {
		t.Errorf("traits of a lock with TryRLock %+v, want a shared mode", got)
	}
	if got := subject.TraitsOf(&local{}); got != (impls.Traits{}) {
		t.Errorf("traits of a plain lock %+v, want none", got)
	}
}

func TestAdaptWantsALock(t *testing.T) {
	if _, err := subject.Adapt(struct{}{}, subject.Config{}); !errors.Is(err, subject.ErrShape) {
		t.Errorf("got %v, want ErrShape", err)
	}
}
