package resp

import (
	"context"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// answerOK is a node that replies OK to every command but HELLO, and sends the arguments of each
// request to got.
func answerOK(conn net.Conn, got chan<- []string) {
	var s Requests
	buf := make([]byte, 50)
	for {
		n, err := conn.Read(buf)
		if err != nil {
			close(got)
			return
		}
		s.Feed(buf[:n])
		for r, ok := s.Next(); ok; r, ok = s.Next() {
			answer := "+OK\r\n"
			if r.Name() == "HELLO" { // like a server with only RESP2
				answer = "-ERR unknown command\r\n"
			}
			got <- argsOf(r)
			if _, err := conn.Write([]byte(answer)); err != nil {
				close(got)
				return
			}
		}
	}
}

// dialAnswerOK connects to such a node, which ends with the connection.
func dialAnswerOK(t *rapid.T, got chan<- []string) net.Conn {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	here, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	there, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer there.Close()
		answerOK(there, got)
	}()
	return here
}

// TestRequestsOfGoRedis: requests of go-redis are parsed.
func TestRequestsOfGoRedis(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.SliceOfN(rapid.StringN(1, 9, 30), 1, 5), 1, 4).Draw(t, "requests")
		got := make(chan []string, 64)
		here := dialAnswerOK(t, got)
		client := redis.NewClient(&redis.Options{
			Protocol: 2, DisableIdentity: true, MaxRetries: -1,
			Dialer: func(context.Context, string, string) (net.Conn, error) { return here, nil },
		})
		pipe := client.Pipeline()
		for _, args := range want {
			pipe.Do(context.Background(), anys(args)...)
		}
		_, err := pipe.Exec(context.Background())
		_ = client.Close()
		var all [][]string
		for args := range got {
			all = append(all, args)
		}
		if diff := cmp.Diff(want, all[max(0, len(all)-len(want)):]); diff != "" || err != nil {
			t.Fatalf("differ (-want +got):\n%s\nerror %v", diff, err)
		}
	})
}

func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}
