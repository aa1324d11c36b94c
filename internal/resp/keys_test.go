package resp

import (
	"slices"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	for _, row := range []struct{ request, want string }{
		{"GET a", "a"},
		{"get a", "a"},
		{"SET a b NX", "a"},
		{"GET", ""},
		{"DEL a b c", "a b c"},
		{"DEL", ""},
		{"MSET a 1 b 2", "a b"},
		{"BLPOP a b 0", "a b"},
		{"BLPOP 0", ""},
		{"RENAME a b", "a b"},
		{"RENAME a", ""},
		{"COPY a b DB 0", "a b"},
		{"BITOP AND d a b", "d a b"},
		{"OBJECT ENCODING a", "a"},
		{"EVAL source 2 a b c", "a b"},
		{"EVALSHA digest 0 a", ""},
		{"EVAL source 3 a b", ""},
		{"EVAL source x a", ""},
		{"EVAL source -1 a", ""},
		{"EVAL source", ""},
		{"ZUNIONSTORE d 2 a b WEIGHTS 1 2", "d a b"},
		{"ZUNIONSTORE d 2 a", ""},
		{"LMPOP 2 a b LEFT", "a b"},
		{"BLMPOP 0 1 a LEFT", "a"},
		{"LMPOP 2 a", ""},
		{"ZINTERCARD 1 a LIMIT 1", "a"},
		{"PUBLISH a b", ""},
		{"SUBSCRIBE a b", ""},
		{"SSUBSCRIBE a b", "a b"},
		{"PING a", ""},
		{"NOSUCH a", ""},
	} {
		if got := Keys(strings.Fields(row.request)); !slices.Equal(got, strings.Fields(row.want)) {
			t.Errorf("%s: %q, want %s", row.request, got, row.want)
		}
	}
}

func TestScriptCall(t *testing.T) {
	for _, row := range []struct{ request, keys, args string }{
		{"EVAL source 2 a b c", "a b", "c"},
		{"EVALSHA digest 0 a", "", "a"},
		{"EVALSHA digest 1 a", "a", ""},
		{"EVAL source 3 a b", "", ""}, // a wrong count
		{"EVAL source x a", "", ""},
		{"EVAL source -1 a", "", ""},
		{"EVAL source", "", ""},
	} {
		var in Requests
		in.Feed(AppendRequest(nil, strings.Fields(row.request)...))
		r, _ := in.Next()
		if keys, args := r.ScriptCall(); strings.Join(keys, " ") != row.keys || strings.Join(args, " ") != row.args {
			t.Errorf("%s: keys %q, args %q", row.request, keys, args)
		}
	}
}
