package main

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/lockbench/lockbench/subject"
)

// dialTime bounds what is asked of a server that may be gone.
const dialTime = 3 * time.Second

var errNotHeld = errors.New("not held")

// etcdAt connects once, at the first use.
func etcdAt(addr string) func() (*clientv3.Client, error) {
	var c *clientv3.Client
	return func() (_ *clientv3.Client, err error) {
		if c == nil {
			c, err = clientv3.New(clientv3.Config{Endpoints: []string{addr}, DialTimeout: dialTime, Logger: zap.NewNop()})
		}
		return c, err
	}
}

// seconds returns a lease as etcd counts them.
func seconds(lease time.Duration) int { return max(int(lease/time.Second), 1) }

// etcdMutex is concurrency.Mutex: a session keeps a lease alive, keys under it queue by their
// revision.
type etcdMutex struct {
	cfg     subject.Config
	connect func() (*clientv3.Client, error)
	session *concurrency.Session // of the last hold; a new one if it is gone
	mutex   *concurrency.Mutex
	fence   uint64
}

func newEtcdMutex(addr string) subject.Factory {
	connect := etcdAt(addr)
	return func(cfg subject.Config) (any, error) { return &etcdMutex{cfg: cfg, connect: connect}, nil }
}

// Lock waits. The fence is the revision of the store at the grant: the end of the hold before came
// before it.
func (l *etcdMutex) Lock(ctx context.Context) error {
	if l.session != nil {
		select {
		case <-l.session.Done():
			l.session = nil
		default:
		}
	}
	if l.session == nil {
		c, err := l.connect()
		if err != nil {
			return err
		}
		if _, err := c.Get(ctx, "alive"); err != nil { // NewSession takes no deadline
			return err
		}
		if l.session, err = concurrency.NewSession(c, concurrency.WithTTL(seconds(l.cfg.TTL))); err != nil {
			return err
		}
	}
	l.mutex = concurrency.NewMutex(l.session, "/"+l.cfg.Key)
	if err := l.mutex.Lock(ctx); err != nil {
		return err
	}
	l.fence = uint64(l.mutex.Header().Revision)
	return nil
}

func (l *etcdMutex) Unlock(ctx context.Context) error { return l.mutex.Unlock(ctx) }
func (l *etcdMutex) Fence() uint64                    { return l.fence }

// Lost is closed when the session ends: its lease was not kept alive.
func (l *etcdMutex) Lost() <-chan struct{} {
	if l.session == nil {
		return nil
	}
	return l.session.Done()
}

// Describe adds that its waiters queue and its lease is renewed.
func (*etcdMutex) Describe() subject.Description {
	return subject.Description{Name: "etcd concurrency.Mutex", Can: []string{"renew", "wakeups", "fifo"}}
}

// etcdLease is a key with a lease that nothing renews, made if it is missing; the fence is the
// revision that made it.
type etcdLease struct {
	cfg     subject.Config
	connect func() (*clientv3.Client, error)
	fence   uint64
	until   time.Time
}

func newEtcdLease(addr string) subject.Factory {
	connect := etcdAt(addr)
	return func(cfg subject.Config) (any, error) { return &etcdLease{cfg: cfg, connect: connect}, nil }
}

func (l *etcdLease) key() string { return "/" + l.cfg.Key + "/lease" }

func (l *etcdLease) TryLock(ctx context.Context) (bool, error) {
	c, err := l.connect()
	if err != nil {
		return false, err
	}
	began := time.Now()
	lease, err := c.Grant(ctx, int64(seconds(l.cfg.TTL)))
	if err != nil {
		return false, err
	}
	free := clientv3.Compare(clientv3.CreateRevision(l.key()), "=", 0)
	reply, err := c.Txn(ctx).If(free).Then(clientv3.OpPut(l.key(), l.cfg.Owner, clientv3.WithLease(lease.ID))).Commit()
	if err != nil || !reply.Succeeded {
		_, _ = c.Revoke(context.WithoutCancel(ctx), lease.ID) // else it ends by itself
		return false, err
	}
	l.fence, l.until = uint64(reply.Header.Revision), began.Add(time.Duration(lease.TTL)*time.Second)
	return true, nil
}

// Unlock deletes the key if it is still that of the hold.
func (l *etcdLease) Unlock(ctx context.Context) error {
	c, err := l.connect()
	if err != nil {
		return err
	}
	own := clientv3.Compare(clientv3.CreateRevision(l.key()), "=", int64(l.fence))
	reply, err := c.Txn(ctx).If(own).Then(clientv3.OpDelete(l.key())).Commit()
	if err == nil && !reply.Succeeded {
		err = errNotHeld
	}
	return err
}

func (l *etcdLease) Fence() uint64         { return l.fence }
func (l *etcdLease) ValidUntil() time.Time { return l.until }

// Describe names it.
func (*etcdLease) Describe() subject.Description { return subject.Description{Name: "etcd lease"} }
