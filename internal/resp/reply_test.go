package resp

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// repliesOf feeds pieces and returns each reply as a line, and the rest.
func repliesOf(pieces ...string) (all []string, rest string, err error) {
	var s Replies
	for _, p := range pieces {
		buf := []byte(p)
		s.Feed(buf)
		for r, ok := s.Next(); ok; r, ok = s.Next() {
			all = append(all, r.Line(20))
		}
		for i := range buf {
			buf[i] = '!'
		}
	}
	return all, string(s.Rest()), s.err
}

// replyTable has every kind of reply and its line.
var replyTable = []struct{ name, wire, line string }{
	{"simple string", "+OK\r\n", "OK"},
	{"error", "-ERR no such thing\r\n", "-ERR no such thing"},
	{"number", ":-7\r\n", "-7"},
	{"string", "$5\r\nhello\r\n", `"hello"`},
	{"string that is cut", "$26\r\nabcdefghijklmnopqrstuvwxyz\r\n", `"abcdefghijklmnopqrst…"`},
	{"string that is not text", "$3\r\n\x00\xff\n\r\n", `"\x00\xff\n"`},
	{"empty string", "$0\r\n\r\n", `""`},
	{"null string", "$-1\r\n", "(nil)"},
	{"null array", "*-1\r\n", "(nil)"},
	{"null", "_\r\n", "(nil)"},
	{"array", "*2\r\n$1\r\na\r\n:1\r\n", "[\"a\", 1]"},
	{"array that begins with a number", "*2\r\n:0\r\n:250\r\n", "[0, 250]"},
	{"empty array", "*0\r\n", "[]"},
	{"nested arrays", "*2\r\n*1\r\n*0\r\n*2\r\n:1\r\n:2\r\n", "[[[]], [1, 2]]"},
	{"map", "%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "[a, 1, b, [2]]"},
	{"set", "~1\r\n+a\r\n", "[a]"},
	{"push", ">2\r\n+invalidate\r\n_\r\n", "[invalidate, (nil)]"},
	{"true", "#t\r\n", "true"},
	{"false", "#f\r\n", "false"},
	{"double", ",3.25\r\n", "3.25"},
	{"negative double", ",-0.5\r\n", "-0.5"},
	{"negative infinity", ",-inf\r\n", "-inf"},
	{"big number", "(3492890328409238509324850943850943825024385\r\n", "34928903284092385093…"},
	{"error with a length", "!8\r\nERR a\r\nb\r\n", `-ERR a\r\nb`},
	{"verbatim string", "=8\r\ntxt:some\r\n", `"some"`},
}

func TestReplies(t *testing.T) {
	for _, tt := range replyTable {
		t.Run(tt.name, func(t *testing.T) {
			if got, rest, err := repliesOf(tt.wire + "+next\r\n"); len(got) != 2 || got[0] != tt.line || got[1] != "next" || rest != "" || err != nil {
				t.Errorf("in one piece: got %q, rest %q, error %v; want %q", got, rest, err, tt.line)
			}
			if want := tt.wire[0] == '-' || tt.wire[0] == '!'; IsErrorText(tt.line) != want {
				t.Errorf("%q is an error: %t, want %t", tt.line, !want, want)
			}
			if got, rest, err := repliesOf(strings.Split(tt.wire, "")...); len(got) != 1 || got[0] != tt.line || rest != "" || err != nil {
				t.Errorf("a byte at a time: got %q, rest %q, error %v; want %q", got, rest, err, tt.line)
			}
		})
	}
}

func TestRepliesBroken(t *testing.T) {
	for _, tt := range []struct {
		name, wire string
		err        error
	}{
		{"an unknown first byte", "@1\r\n", errSyntax},
		{"an empty line", "\r\n", errSyntax},
		{"a line without CR", "+OK\n", errSyntax},
		{"a count that is no number", "*x\r\n", errSyntax},
		{"a count that is missing", "*\r\n", errSyntax},
		{"a string longer than it says", "$1\r\nabc\r\n", errSyntax},
		{"an attribute, which no server sends", "|1\r\n+ttl\r\n:3600\r\n:5\r\n", errSyntax},
		{"a string in parts, which no server sends", "$?\r\n;4\r\nHell\r\n;0\r\n", errSyntax},
		{"too deep", strings.Repeat("*1\r\n", maxDepth+1), errLimit},
		{"a count beyond the limit", "*99999999999999999999\r\n", errLimit},
		{"a length beyond the limit", "$67108865\r\n", errLimit},
		{"a line beyond the limit", "+" + strings.Repeat("a", maxLine+1), errLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Replies
			s.Feed([]byte("+before\r\n" + tt.wire))
			first, _ := s.Next()
			r, ok := s.Next()
			if first.Line(9) != "before" || !ok || !r.opaque || string(r.Raw) != tt.wire || !errors.Is(s.err, tt.err) {
				t.Errorf("got %q, then opaque %v %.20q, error %v; want %v", first.Line(9), r.opaque, r.Raw, s.err, tt.err)
			}
			s.Feed([]byte("+after\r\n"))
			if r, ok := s.Next(); !ok || !r.opaque || string(r.Raw) != "+after\r\n" || r.kind() != 0 || r.Line(9) != "(not RESP)" {
				t.Errorf("after the error: %v opaque %v %q %q", ok, r.opaque, r.Raw, r.Line(9))
			}
		})
	}
}

func TestReplyParts(t *testing.T) {
	r, ok := ParseReply([]byte(">3\r\n$7\r\nmessage\r\n*1\r\n:1\r\n$-1\r\n"))
	if !ok || r.kind() != '>' || r.IsError() || r.IsNil() {
		t.Fatalf("ok %v type %q", ok, r.kind())
	}
	got := []string{string(r.elem(0)), string(r.elem(1)), string(r.elem(2)), string(r.elem(3))}
	if diff := cmp.Diff([]string{"message", "", "", ""}, got); diff != "" || r.Str() != nil {
		t.Errorf("elements differ: %s", diff)
	}
	if r, ok := ParseReply([]byte(":12\r\n")); !ok || string(r.Str()) != "12" {
		t.Errorf("number: %v %q", ok, r.Str())
	}
	for _, bad := range []string{"", "+OK", "+OK\r\n+OK\r\n", "?\r\n"} {
		if _, ok := ParseReply([]byte(bad)); ok {
			t.Errorf("ParseReply(%q) is no single reply", bad)
		}
	}
}

// TestRepliesHoweverCut: the lines of replies do not depend on the pieces in which they come.
func TestRepliesHoweverCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var wire strings.Builder
		var want []string
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(replyTable)-1), 1, 6).Draw(t, "replies") {
			wire.WriteString(replyTable[i].wire)
			want = append(want, replyTable[i].line)
		}
		got, rest, err := repliesOf(cut(t, wire.String())...)
		if diff := cmp.Diff(want, got); diff != "" || rest != "" || err != nil {
			t.Fatalf("differ (-want +got):\n%s\nrest %q, error %v", diff, rest, err)
		}
	})
}
