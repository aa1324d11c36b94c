package inject

import (
	"bytes"
	"io"
	"net"
	"testing"

	"pgregory.net/rapid"
)

// Any bytes pass as they are, both ways, RESP or not.
func TestProxyIsTransparent(t *testing.T) {
	node, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	proxy := NewProxy(ProxyConfig{})
	defer proxy.Close()
	link, err := proxy.Open(LinkConfig{Client: 1, Dial: dialTo(node.Addr().String())})
	if err != nil {
		t.Fatal(err)
	}
	piece := rapid.OneOf(
		rapid.SampledFrom([][]byte{[]byte("*1\r\n$4\r\nPING\r\n"), []byte("+OK\r\n"), []byte("$5\r\nhello\r\n"), []byte(">1\r\n:1\r\n"), []byte("GET k\r\n")}),
		rapid.SliceOfN(rapid.Byte(), 1, 40),
	)
	rapid.Check(t, func(t *rapid.T) {
		there, back := rapid.SliceOf(piece).Draw(t, "there"), rapid.SliceOf(piece).Draw(t, "back")
		client, err := net.Dial("tcp", link.Addr())
		if err != nil {
			t.Fatal(err)
		}
		server, err := node.Accept()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, client, server, there, back)
	})
}

// exchange writes the pieces and reads them at the other end: first from client to server, then
// back.
func exchange(t *rapid.T, client, server net.Conn, there, back [][]byte) {
	defer server.Close()
	defer client.Close()
	for _, way := range []struct {
		from, to net.Conn
		pieces   [][]byte
		halfway  bool
	}{{server, client, back, false}, {client, server, there, true}} {
		for _, p := range way.pieces {
			if _, err := way.from.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		if way.halfway { // an incomplete frame is passed on when its sender ends
			way.from.Close()
		} else if err := way.from.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		want := bytes.Join(way.pieces, nil)
		if got, _ := io.ReadAll(way.to); !bytes.Equal(got, want) {
			t.Fatalf("%q came out of %q", got, want)
		}
		if !way.halfway {
			return
		}
	}
}
