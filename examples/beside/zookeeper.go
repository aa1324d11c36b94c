package main

import (
	"context"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/lockbench/lockbench/subject"
)

// zkLock is go-zookeeper's Lock: a queue of ephemeral nodes, which end with their client's session.
type zkLock struct {
	cfg   subject.Config
	addr  string
	conn  *zk.Conn
	lock  *zk.Lock
	wait  chan error // of a Lock that was given up, and may be granted yet
	lost  chan struct{}
	fence uint64
}

func newZkLock(addr string) subject.Factory {
	return func(cfg subject.Config) (any, error) { return &zkLock{cfg: cfg, addr: addr}, nil }
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (l *zkLock) path() string {
	return "/" + strings.NewReplacer("/", "-", ":", "-").Replace(l.cfg.Key)
}

// open begins a session, which lasts a lease after the client has gone.
func (l *zkLock) open() error {
	if l.conn != nil {
		return nil
	}
	conn, events, err := zk.Connect([]string{l.addr}, l.cfg.TTL, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	lost := make(chan struct{})
	l.conn, l.lost = conn, lost
	go func() { // ends with the connection
		for e := range events {
			if e.State == zk.StateExpired {
				close(lost)
				return
			}
		}
	}()
	return nil
}

// Lock waits. The library cannot give up: what it is granted later is the next try's.
func (l *zkLock) Lock(ctx context.Context) error {
	select {
	case <-l.lostOf():
		l.conn.Close()
		l.conn = nil
	default:
	}
	if err := l.open(); err != nil {
		return err
	}
	if l.wait == nil {
		l.lock, l.wait = zk.NewLock(l.conn, l.path(), zk.WorldACL(zk.PermAll)), make(chan error, 1)
		go func(lock *zk.Lock, granted chan<- error) { granted <- lock.Lock() }(l.lock, l.wait)
	}
	select {
	case err := <-l.wait:
		l.wait = nil
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return l.number()
}

// number reads the fence: the zxid that made the first node of the queue, which is the hold's own.
func (l *zkLock) number() error {
	nodes, _, err := l.conn.Children(l.path())
	if err != nil || len(nodes) == 0 {
		return err
	}
	first := slices.MinFunc(nodes, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, '-'):], b[strings.LastIndexByte(b, '-'):])
	})
	_, stat, err := l.conn.Get(l.path() + "/" + first)
	if err == nil {
		l.fence = uint64(stat.Czxid)
	}
	return err
}

func (l *zkLock) lostOf() chan struct{} {
	if l.conn == nil {
		return nil
	}
	return l.lost
}

func (l *zkLock) Unlock(context.Context) error { return l.lock.Unlock() }
func (l *zkLock) Fence() uint64                { return l.fence }

// Lost is closed when the client learns that its session has expired.
func (l *zkLock) Lost() <-chan struct{} { return l.lostOf() }

// Describe adds that its waiters queue and that its session is kept alive.
func (*zkLock) Describe() subject.Description {
	return subject.Description{Name: "ZooKeeper Lock", Can: []string{"renew", "wakeups", "fifo"}}
}
