package resp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPairing: each row is a conversation, "> args" a request, "< reply" a reply. want has the
// request of each reply.
func TestPairing(t *testing.T) {
	const sub, msg = "*3\r\n$9\r\nsubscribe\r\n$1\r\n%s\r\n:%d\r\n", "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nm\r\n"
	unsub := "*3\r\n$11\r\nunsubscribe\r\n$1\r\n%s\r\n:%d\r\n"
	push := func(s string) string { return ">" + s[1:] }
	for _, tt := range []struct {
		name string
		talk []string
		want []string
		left int
	}{
		{"one after the other", []string{"> GET a", "< $-1\r\n", "> GET b", "< +x\r\n"}, []string{"GET a last", "GET b last"}, 0},
		{"a pipeline", []string{"> GET a", "> GET b", "< +1\r\n", "< -ERR\r\n"}, []string{"GET a last", "GET b last"}, 0},
		{"an empty request is not answered", []string{">", "> GET a", "< +1\r\n"}, []string{"GET a last"}, 0},
		{"a push between", []string{"> GET a", "< >1\r\n+invalidate\r\n", "< +1\r\n"}, []string{"none", "GET a last"}, 0},
		{"unasked", []string{"< +hello\r\n"}, []string{"none"}, 0},
		{"not answered yet", []string{"> GET a", "> GET b", "< +1\r\n"}, []string{"GET a last"}, 1},
		{"two channels are confirmed twice", []string{"> SUBSCRIBE a b", "> PING", "< " + fmt.Sprintf(sub, "a", 1), "< " + fmt.Sprintf(sub, "b", 2), "< " + msg, "< *2\r\n+pong\r\n+\r\n"},
			[]string{"SUBSCRIBE a b", "SUBSCRIBE a b last", "none", "PING last"}, 0},
		{"confirmed by pushes", []string{"> SUBSCRIBE a", "> GET k", "< " + push(fmt.Sprintf(sub, "a", 1)), "< " + push(msg), "< +v\r\n"},
			[]string{"SUBSCRIBE a last", "none", "GET k last"}, 0},
		{"a subscription refused", []string{"> SUBSCRIBE a b", "> PING", "< -NOPERM\r\n", "< +PONG\r\n"}, []string{"SUBSCRIBE a b last", "PING last"}, 0},
		{"unsubscribed from all", []string{"> SUBSCRIBE a b", "< " + fmt.Sprintf(sub, "a", 1), "< " + fmt.Sprintf(sub, "b", 2), "> UNSUBSCRIBE", "> PING",
			"< " + fmt.Sprintf(unsub, "a", 1), "< " + fmt.Sprintf(unsub, "b", 0), "< +PONG\r\n"},
			[]string{"SUBSCRIBE a b", "SUBSCRIBE a b last", "UNSUBSCRIBE", "UNSUBSCRIBE last", "PING last"}, 0},
		{"no message without a subscription", []string{"> LRANGE l 0 -1", "< *1\r\n$7\r\nmessage\r\n"}, []string{"LRANGE l 0 -1 last"}, 0},
		{"replies off and on", []string{"> CLIENT REPLY OFF", "> SET a 1", "> CLIENT REPLY ON", "< +OK\r\n", "> GET a", "< +1\r\n"},
			[]string{"CLIENT REPLY ON last", "GET a last"}, 0},
		{"one reply skipped", []string{"> client reply skip", "> SET a 1", "> GET a", "< +1\r\n"}, []string{"GET a last"}, 0},
		{"more than the ring first holds", strings.Fields(strings.Repeat(">_PING ", 20)), nil, 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p Pairing[string]
			var got []string
			for _, line := range tt.talk {
				line = strings.ReplaceAll(line, "_", " ")
				if line[0] == '>' {
					expect(&p, strings.TrimSpace(line[1:]))
					continue
				}
				got = append(got, answer(t, &p, line[2:]))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || p.len != tt.left {
				t.Errorf("answers differ (-want +got):\n%s\nleft %d, want %d", diff, p.len, tt.left)
			}
		})
	}
}

func expect(p *Pairing[string], text string) {
	var s Requests
	s.Feed(AppendRequest(nil, strings.Fields(text)...))
	r, _ := s.Next()
	p.Expect(r, text)
}

func answer(t *testing.T, p *Pairing[string], wire string) string {
	t.Helper()
	r, ok := ParseReply([]byte(wire))
	if !ok {
		t.Fatalf("not a reply: %q", wire)
	}
	v, last := p.Answer(r)
	switch {
	case v == "":
		return "none"
	case last:
		return v + " last"
	}
	return v
}

func TestPairingAbandon(t *testing.T) {
	var p Pairing[string]
	expect(&p, "GET a")
	expect(&p, "GET b")
	for _, want := range []string{"GET a", "GET b", ""} {
		if got, ok := p.Abandon(); got != want || ok != (want != "") {
			t.Errorf("abandoned %q, %v; want %q", got, ok, want)
		}
	}
}
