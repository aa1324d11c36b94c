package resp

import (
	"io"
	"net"
	"slices"
	"testing"
)

// Requests are shown whole, wherever their bytes are cut, and the bytes of both directions pass
// unchanged.
func TestTapShowsWhatPasses(t *testing.T) {
	client, server := net.Pipe()
	var names []string
	in := 0
	tap := &Tap{Conn: client, Out: EachRequest(func(r Request) { names = append(names, r.Name()) }), In: func(p []byte) { in += len(p) }}
	sent := append(AppendRequest(nil, "set", "k", "v"), AppendRequest(nil, "get", "k")...)
	got := make([]byte, len(sent))
	go func() {
		defer server.Close()
		_, _ = io.ReadFull(server, got)
		_, _ = server.Write([]byte("+OK\r\n"))
	}()
	for half := range slices.Chunk(sent, len(sent)/2) {
		if _, err := tap.Write(half); err != nil {
			t.Fatal(err)
		}
	}
	reply, err := io.ReadAll(tap)
	if err != nil || string(reply) != "+OK\r\n" || in != len(reply) {
		t.Errorf("read %q, %d of its bytes were shown; error %v", reply, in, err)
	}
	if string(got) != string(sent) || !slices.Equal(names, []string{"SET", "GET"}) {
		t.Errorf("the server got %q; shown were %q", got, names)
	}
}
