package resp

import (
	"fmt"
	"net"
)

// Tap is a connection that passes its bytes to functions, which run in the goroutines that write
// and read. Either may be nil.
type Tap struct {
	net.Conn
	Out func(p []byte) // what is about to be written
	In  func(p []byte) // what was read
}

// Write writes to the connection.
func (t *Tap) Write(p []byte) (int, error) {
	if t.Out != nil {
		t.Out(p)
	}
	return t.Conn.Write(p)
}

// Read reads from the connection.
func (t *Tap) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if t.In != nil {
		t.In(p[:n])
	}
	return n, err
}

// EachRequest returns a function that takes a stream in pieces and calls do with each request,
// which is valid until do returns.
func EachRequest(do func(Request)) func(p []byte) {
	var stream Requests
	return func(p []byte) {
		stream.Feed(p)
		for r, ok := stream.Next(); ok; r, ok = stream.Next() {
			do(r)
		}
	}
}

// Bound returns a connection for a client that allocates what the server announces: Read fails at a
// reply beyond the limits of this package, before the client has seen the end of its head.
func Bound(c net.Conn) net.Conn { return &bounded{Conn: c} }

type bounded struct {
	net.Conn
	replies Replies
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	b.replies.Feed(p[:n])
	for ok := true; ok; {
		_, ok = b.replies.Next()
	}
	if beyond := b.replies.Beyond(); beyond != nil {
		return 0, fmt.Errorf("the server's reply: %w", beyond)
	}
	return n, err
}
