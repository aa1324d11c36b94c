package inject

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"reflect"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/internal/resp"
)

// recorded returns the commands that a client's wire records of requests; each is sent alone or cut
// in two.
func recorded(t *testing.T, requests [][]byte) []history.Command {
	t.Helper()
	c, all := openWire(t, &Wire{Names: map[string]string{strings.Repeat("a", 40): "known.lua"}}, canned{reply: ":1\r\n"}.dial)
	buf := make([]byte, 100)
	for i, r := range requests {
		at := len(r) * (i % 3 / 2) / 2 // every third in two parts
		_, err1 := c.Write(r[:at])
		_, err2 := c.Write(r[at:])
		if _, err := c.Read(buf); err1 != nil || err2 != nil || err != nil {
			t.Fatal(err1, err2, err)
		}
	}
	return *all
}

// drawRequest returns a request of a few kinds, in which little differs from the others of its
// kind.
func drawRequest(r *rand.Rand) []byte {
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	token := fmt.Sprintf("%0*x", 2+r.IntN(2), r.IntN(256))
	switch r.IntN(8) {
	case 0:
		return resp.AppendRequest(nil, pick("set", "SET"), pick("job", "tag"), token, "nx", "px", pick("100", "300"))
	case 1: // scripts whose digests have the same length, one with a name, some in capitals
		return resp.AppendRequest(nil, "evalsha", strings.Repeat(pick("a", "b", "c", "A", "B"), 40), "1", "job", token)
	case 2: // sources of the same length
		return resp.AppendRequest(nil, "eval", pick("return 1", "return 2", "-- name:"), "0", token)
	case 3:
		return resp.AppendRequest(nil, "script", "load", pick("return 1", "return 2"))
	case 4: // what is recorded with escapes
		return resp.AppendRequest(nil, "set", "job", string([]byte{byte(r.IntN(256)), byte(r.IntN(4))}))
	case 5: // an inline command
		return []byte(pick("get", "del") + " " + pick("job", "tag") + "\r\n")
	case 6: // a name that is no command's, and more kinds than are remembered
		return resp.AppendRequest(nil, strings.Repeat("x", 1+r.IntN(30)), token)
	}
	return resp.AppendRequest(nil, "publish", pick("job", "tag"), strings.Repeat(token, r.IntN(800)))
}

// TestARequestLikeAnotherIsRecordedAsIfItWereTheFirst compares the record of many requests on one
// connection with the record of each on one of its own.
func TestARequestLikeAnotherIsRecordedAsIfItWereTheFirst(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var requests [][]byte
		var want []history.Command
		for range 60 {
			requests = append(requests, drawRequest(r))
			want = append(want, recorded(t, requests[len(requests)-1:])...)
		}
		got := recorded(t, requests)
		if len(got) != len(requests) {
			t.Fatalf("seed %d: %d commands recorded of %d requests", seed, len(got), len(requests))
		}
		for i := range got {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("seed %d: %q after %q is recorded as\n%+v, and alone as\n%+v", seed, requests[i], requests[:i], got[i], want[i])
			}
		}
	}
}

// TestARequestLikeAnotherAllocatesItsTokenAlone: the strings of what repeats are shared.
func TestARequestLikeAnotherAllocatesItsTokenAlone(t *testing.T) {
	c, _ := openWire(t, &Wire{Done: func(history.Command) {}}, canned{reply: "+OK\r\n"}.dial)
	requests := make([][]byte, 64)
	for i := range requests {
		requests[i] = resp.AppendRequest(nil, "set", "job", fmt.Sprintf("%040x", i), "nx", "px", "10000")
	}
	n, buf := 0, make([]byte, 100)
	if allocated := testing.AllocsPerRun(1000, func() {
		_, _ = c.Write(requests[n%len(requests)])
		_, _ = c.Read(buf)
		n++
	}); allocated > 1 {
		t.Errorf("%v allocations for each request, want one", allocated)
	}
}

// canned is a connection that swallows what is written and answers every read with the same reply.
type canned struct {
	net.Conn
	reply string
}

func (c canned) Write(p []byte) (int, error) { return len(p), nil }
func (c canned) Read(p []byte) (int, error)  { return copy(p, c.reply), nil }

func (c canned) dial(context.Context, string, string) (net.Conn, error) { return c, nil }

// BenchmarkWire is what a wire adds to one command and its reply: understanding both, the gate, the
// record.
func BenchmarkWire(b *testing.B) {
	rec := new(history.Recorder).Client("c1")
	c, _ := openWire(b, &Wire{Done: rec.AddCommand, Timeline: newSolo().now}, canned{reply: "+OK\r\n"}.dial)
	request := []byte("*6\r\n$3\r\nset\r\n$3\r\njob\r\n$40\r\n0123456789012345678901234567890123456789\r\n$2\r\nnx\r\n$2\r\npx\r\n$5\r\n10000\r\n")
	buf := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = c.Write(request)
		_, _ = c.Read(buf)
	}
}
