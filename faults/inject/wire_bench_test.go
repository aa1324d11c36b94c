package inject

import (
	"context"
	"net"
	"testing"

	"github.com/lockbench/lockbench/history"
)

// canned is a connection that swallows what is written and answers every read with the same reply.
type canned struct {
	net.Conn
	reply string
}

func (c canned) Write(p []byte) (int, error) { return len(p), nil }
func (c canned) Read(p []byte) (int, error)  { return copy(p, c.reply), nil }

// BenchmarkWire is what a wire adds to one command and its reply: understanding both, the gate, the
// record.
func BenchmarkWire(b *testing.B) {
	s := newSolo()
	rec := new(history.Recorder).Client("c1")
	w := &Wire{Gate: s.Goroutine, Client: 1, Done: rec.AddCommand, Timeline: s.now,
		Dial: func(context.Context, string, string) (net.Conn, error) { return canned{reply: "+OK\r\n"}, nil }, Node: func(string) int { return 0 }}
	c, err := w.Open(b.Context(), "tcp", "127.0.0.1:1")
	if err != nil {
		b.Fatal(err)
	}
	request := []byte("*6\r\n$3\r\nset\r\n$3\r\njob\r\n$40\r\n0123456789012345678901234567890123456789\r\n$2\r\nnx\r\n$2\r\npx\r\n$5\r\n10000\r\n")
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Write(request)
		_, _ = c.Read(buf)
	}
}
