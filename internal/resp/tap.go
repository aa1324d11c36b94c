package resp

import "net"

// Tap is a connection that passes its bytes to functions, which run in the goroutines that write and read. Either may be nil.
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

// EachRequest returns a function that takes a stream in pieces and calls do with each request, which is valid until do returns.
func EachRequest(do func(Request)) func(p []byte) {
	var stream Requests
	return func(p []byte) {
		stream.Feed(p)
		for r, ok := stream.Next(); ok; r, ok = stream.Next() {
			do(r)
		}
	}
}
