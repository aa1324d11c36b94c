package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/explain"
)

// TestDerive: what a node executed, told by requests and replies alone.
func TestDerive(t *testing.T) {
	tests := []struct {
		name, commands, want string
	}{
		// The middle between request and reply.
		{"in the order of the middles", "c1:SET k a -> OK @0-10 | c2:GET k -> a @12-20", "SET GET"},
		// The deletion arrived before the SET, though its middle is later.
		{"the later one came first", "c1:SET k a -> OK @0-1 | c2:DEL k -> 1 @2-90 | c3:SET k b NX -> OK @10-20", "SET DEL SET"},
		// The SET was under way longer than the GET, which found nothing yet.
		{"the earlier one came last", "c2:SET k a -> OK @0-30 | c1:GET k -> (nil) @14-29 | c3:GET k -> a @31-40", "GET SET GET"},
		// Both are replied OK in either order.
		{"a later reply tells", "c1:SET k a -> OK @0-20 | c2:SET k b -> OK @5-17 | c1:GET k -> a @30-40", "SET(b) SET(a) GET"},
		// Its reply was lost, and it arrived after the first GET.
		{"a reply was lost", "c1:SET k a -> ? @0-0 | c2:GET k -> (nil) @10-20 | c2:GET k -> a @30-40", "GET SET GET"},
		// An item that a waiting client took at once.
		{"a client waited", "c1:BLPOP k 1 -> [k, a] @0-21 | c2:RPUSH k a -> 1 @20-29", "RPUSH BLPOP"},
		// Two commands of one connection are executed as sent.
		{"one connection", "c1:SET k a -> OK @0-10 | c1:SET k b -> OK @5-10 | c2:GET k -> a @20-30", "SET(a) SET(b)"},
		// Nothing that was sent explains the reply.
		{"no order", "c1:SET k a -> OK @0-10 | c2:GET k -> z @12-20 | c2:GET k -> a @30-40", "SET"},
		// c2's request was executed before the release, as the time left says.
		{"the time left tells", "c1:SET k a PX 300 -> OK @0-1 | c1:SET k b PX 300 -> OK @100-101 | c2:PTTL k -> 202 @98-104", "SET(a) PTTL SET(b)"},
		// One digit of what is left may be another; one of anything else may not.
		{"one digit", "c1:SET k a PX 300 -> OK @0-1 | c2:PTTL k -> 7 @292-292.1 | c1:SET n 7 -> OK @293-294 | c2:GET n -> 8 @295-296", "SET PTTL SET"},
		// It was executed soon after it had been sent, and its reply was slow.
		{"what is left of a lease", "c1:SET k a PX 300 -> OK @0-0.1 | c2:PTTL k -> 8 @291.5-299", "SET PTTL"},
		// The lease ends at 300 ms; the server's clock had not yet come there.
		{"a lease that is about to end", "c1:SET k a PX 300 -> OK @0-0.1 | c2:PTTL k -> 0 @300-301", "SET PTTL"},
	}
	srv := server(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStory(t, tt.name)
			s.Header.Epoch = 946684800_000_000_000
			for i, text := range strings.Split(tt.commands, " | ") {
				client, command, _ := strings.Cut(text, ":")
				s.addCommands(client, uint64(i)+1, command, 0, 0)
			}
			var got []string
			for _, e := range explain.Derive(t.Context(), s.Record, srv) {
				if e.Name == "SET" && slices.Contains([]string{"a", "b"}, e.Args[1]) && strings.Contains(tt.want, "(") {
					e.Name += fmt.Sprintf("(%s)", e.Args[1])
				}
				if e.Effect == "" {
					got = append(got, e.Name)
				}
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
