package servers

import (
	"context"
	"errors"
	"net"
	"sync"
)

// barrier is the address by which other servers and sentinels reach a server. While it is down,
// nothing passes it; connections stay open.
type barrier struct {
	listener net.Listener
	target   dialer // the server; set before it is reached
	work     sync.WaitGroup

	mu     sync.Mutex    // guards the fields below
	open   chan struct{} // closed while it is up
	ends   map[net.Conn]struct{}
	closed bool
}

// newBarriers returns one for each server of a topology with sentinels; none for others.
func newBarriers(spec Spec) (all *[sentinelNodes]*barrier, err error) {
	if !spec.hasSentinels() {
		return nil, nil
	}
	all = new([sentinelNodes]*barrier)
	for i := range all {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(err, closeBarriers(all))
		}
		b := &barrier{listener: l, open: make(chan struct{}), ends: map[net.Conn]struct{}{}}
		close(b.open)
		all[i] = b
	}
	return all, nil
}

func closeBarriers(all *[sentinelNodes]*barrier) (err error) {
	if all == nil {
		return nil
	}
	for _, b := range all {
		if b != nil {
			err = errors.Join(err, b.close())
		}
	}
	return err
}

func (b *barrier) addr() string { return b.listener.Addr().String() }

// serve begins to accept connections for a server.
func (b *barrier) serve(target dialer) {
	b.target = target
	b.work.Go(func() {
		for {
			conn, err := b.listener.Accept()
			if err != nil {
				return
			}
			b.work.Go(func() { b.join(conn) })
		}
	})
}

// join carries what either side of a connection sends until one ends it.
func (b *barrier) join(from net.Conn) {
	defer from.Close()
	if !b.enter(from) || !b.pass() {
		return
	}
	defer b.leave(from)
	to, err := b.target(context.Background())
	if err != nil {
		return
	}
	defer to.Close()
	if !b.enter(to) {
		return
	}
	defer b.leave(to)
	var back sync.WaitGroup
	back.Go(func() { b.carry(from, to) })
	b.carry(to, from)
	back.Wait()
}

// carry copies until either side ends, and then ends both.
func (b *barrier) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if !b.pass() {
			return
		}
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until the barrier is up; false if it is closed.
func (b *barrier) pass() bool {
	b.mu.Lock()
	open := b.open
	b.mu.Unlock()
	<-open
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.closed
}

// lower lets nothing pass until the returned function is called. What was sent meanwhile arrives
// then.
func (b *barrier) lower() (lift func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	open := make(chan struct{})
	if !b.closed {
		b.open = open
	}
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.closed {
			close(open)
		}
	})
}

func (b *barrier) enter(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.ends[c] = struct{}{}
	}
	return !b.closed
}

func (b *barrier) leave(c net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ends, c)
}

// close ends its connections and waits for them.
func (b *barrier) close() error {
	err := b.listener.Close()
	b.mu.Lock()
	select {
	case <-b.open:
	default:
		close(b.open)
	}
	b.closed = true
	for c := range b.ends {
		_ = c.Close()
	}
	b.mu.Unlock()
	b.work.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
