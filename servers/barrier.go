package servers

import (
	"context"
	"errors"
	"io"
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

func newBarrier() (*barrier, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &barrier{listener: l, open: make(chan struct{}), ends: map[net.Conn]struct{}{}}
	close(b.open)
	return b, nil
}

func (b *barrier) addr() string { return b.listener.Addr().String() }

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
	defer b.leave(from)
	if !b.enter(from) || !b.pass() {
		return
	}
	to, err := b.target(context.Background())
	if err != nil {
		return
	}
	defer b.leave(to)
	if !b.enter(to) {
		return
	}
	carry := func(to, from net.Conn) {
		defer to.Close() // either side ends both
		defer from.Close()
		_, _ = io.Copy(to, passing{from, b})
	}
	var back sync.WaitGroup
	back.Go(func() { carry(from, to) })
	carry(to, from)
	back.Wait()
}

// passing reads from a connection what may pass the barrier.
type passing struct {
	io.Reader
	barrier *barrier
}

func (p passing) Read(buf []byte) (int, error) {
	n, err := p.Reader.Read(buf)
	if !p.barrier.pass() {
		return 0, net.ErrClosed
	}
	return n, err
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
	_ = c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.ends, c)
}

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
