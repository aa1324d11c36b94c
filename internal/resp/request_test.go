package resp

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// requestsOf feeds pieces and returns the arguments of every request, and what is left.
func requestsOf(pieces ...string) (all [][]string, rest string, err error) {
	var s Requests
	for _, p := range pieces {
		buf := []byte(p)
		s.Feed(buf)
		for r, ok := s.Next(); ok; r, ok = s.Next() {
			all = append(all, argsOf(r))
		}
		for i := range buf { // the owner of the bytes reuses them
			buf[i] = '!'
		}
	}
	return all, string(s.Rest()), s.err
}

func argsOf(r Request) []string {
	args := []string{}
	for i := range r.Len() {
		args = append(args, string(r.Arg(i)))
	}
	return args
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []string
		want [][]string
		rest string
		err  error
	}{
		{"one request", []string{"*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"}, [][]string{{"GET", "k"}}, "", nil},
		{"a pipeline in one piece", []string{"*1\r\n$4\r\nPING\r\n*1\r\n$4\r\nQUIT\r\n"}, [][]string{{"PING"}, {"QUIT"}}, "", nil},
		{"a request cut inside a length and inside a CR LF", []string{"*2\r\n$", "3\r\nGET\r", "\n$1\r\n", "k\r\n"}, [][]string{{"GET", "k"}}, "", nil},
		{"an argument holds what looks like a frame", []string{"*2\r\n$4\r\nECHO\r\n$4\r\n*1\r\n\r\n"}, [][]string{{"ECHO", "*1\r\n"}}, "", nil},
		{"an empty argument", []string{"*2\r\n$3\r\nGET\r\n$0\r\n\r\n"}, [][]string{{"GET", ""}}, "", nil},
		{"requests of nothing are legal and not answered", []string{"*0\r\n*-1\r\n\r\n*1\r\n$4\r\nPING\r\n"}, [][]string{{}, {}, {}, {"PING"}}, "", nil},
		{"inline, ended by LF alone", []string{"PI", "NG\nGET  k\r\n"}, [][]string{{"PING"}, {"GET", "k"}}, "", nil},
		{"inline with quotes, which end no word", []string{"SET \"a b\"\r\n"}, [][]string{{"SET", "\"a", "b\""}}, "", nil},
		{"an incomplete request is kept", []string{"*1\r\n$4\r\nPI"}, nil, "*1\r\n$4\r\nPI", nil},
		{"an argument that is no bulk string", []string{"*1\r\n:1\r\n"}, [][]string{{}}, "", errSyntax},
		{"a null argument", []string{"*1\r\n$-1\r\n"}, [][]string{{}}, "", errSyntax},
		{"a length with a sign", []string{"*1\r\n$+1\r\n"}, [][]string{{}}, "", errSyntax},
		{"a string longer than it says", []string{"*1\r\n$1\r\nabc\r\n"}, [][]string{{}}, "", errSyntax},
		{"more arguments than the limit", []string{"*1048577\r\n"}, [][]string{{}}, "", errLimit},
		{"a longer argument than the limit", []string{"*1\r\n$67108865\r\n"}, [][]string{{}}, "", errLimit},
		{"a line that does not end", []string{strings.Repeat("a", maxLine+1)}, [][]string{{}}, "", errLimit},
		{"after an error everything is passed on", []string{"*1\r\n:1\r\n", "*1\r\n$4\r\nPING\r\n"}, [][]string{{}, {}}, "", errSyntax},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, rest, err := requestsOf(tt.in...)
			if diff := cmp.Diff(tt.want, got); diff != "" || rest != tt.rest || !errors.Is(err, tt.err) {
				t.Errorf("requests differ (-want +got):\n%s\nrest %q, want %q; error %v, want %v", diff, rest, tt.rest, err, tt.err)
			}
		})
	}
}

func TestRequestIsKnown(t *testing.T) {
	for _, tt := range []struct {
		args      []string
		name, key string
		write     bool
	}{
		{[]string{"set", "k", "v"}, "SET", "k", true},
		{[]string{"get", "k"}, "GET", "k", false},
		{[]string{"EVAL", "return 1", "0"}, "EVAL", "", true}, // no keys: the next argument is not one
		{[]string{"EVAL_RO", "return 1", "1", "k"}, "EVAL_RO", "k", false},
		{[]string{"PUBLISH", "ch", "m"}, "PUBLISH", "", true}, // any node of a cluster accepts a channel
		{[]string{"nonesuch", "k"}, "NONESUCH", "", false},
		{[]string{strings.Repeat("x", 99)}, strings.ToUpper(strings.Repeat("x", longestName)) + "…", "", false},
	} {
		var s Requests
		s.Feed(AppendRequest(nil, tt.args...))
		r, ok := s.Next()
		if !ok || r.Name() != tt.name || strings.Join(Keys(tt.args), " ") != tt.key || r.IsWrite() != tt.write || IsWrite(r.Name()) != tt.write {
			t.Errorf("%.60q: ok %v name %q key %q write %v, want %q %q %v", tt.args, ok, r.Name(), Keys(tt.args), r.IsWrite(), tt.name, tt.key, tt.write)
		}
	}
}

func TestRequestStrings(t *testing.T) {
	var s Requests
	s.Feed(AppendRequest(nil, "SET", "key", strings.Repeat("é", 10), "a\x00b", "dropped"))
	r, _ := s.Next()
	want := []string{"key", "éééé…", `a\x00b`}
	if got := r.Strings(3, 9); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whatever is written comes out again, however it is cut.
func TestRequestsHoweverCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("ab*$\r\n1-")), 0, 6, -1)
		want := rapid.SliceOfN(rapid.SliceOfN(word, 1, 4), 1, 5).Draw(t, "requests")
		var wire []byte
		for _, args := range want {
			wire = AppendRequest(wire, args...)
		}
		got, rest, err := requestsOf(cut(t, string(wire))...)
		if diff := cmp.Diff(want, got); diff != "" || rest != "" || err != nil {
			t.Fatalf("differ (-want +got):\n%s\nrest %q, error %v", diff, rest, err)
		}
	})
}

// cut cuts s at drawn places.
func cut(t *rapid.T, s string) (pieces []string) {
	for len(s) > 0 {
		n := rapid.IntRange(1, len(s)).Draw(t, "piece")
		pieces = append(pieces, s[:n])
		s = s[n:]
	}
	return pieces
}
