package history_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/history"
)

func TestCommandKind(t *testing.T) {
	type kind struct{ script, accepted, mayRenew bool }
	for _, c := range []struct {
		command history.Command
		want    kind
		keys    []string
	}{
		// deleted one key of two
		{history.Command{Name: "DEL", Args: []string{"a", "b"}, Replied: 1, Reply: "1"}, kind{accepted: true}, []string{"a", "b"}},
		// nothing was there
		{history.Command{Name: "DEL", Args: []string{"a"}, Replied: 1, Reply: "0"}, kind{}, []string{"a"}},
		{history.Command{Name: "SET", Args: []string{"a", "v"}, Replied: 1, Reply: "OK"}, kind{accepted: true, mayRenew: true}, []string{"a"}},
		// NX, and the key was there
		{history.Command{Name: "SET", Args: []string{"a", "v", "NX"}, Replied: 1, Reply: "(nil)"}, kind{mayRenew: true}, []string{"a"}},
		{history.Command{Name: "PEXPIRE", Args: []string{"a", "5"}, Replied: 1, Reply: "1"}, kind{accepted: true, mayRenew: true}, []string{"a"}},
		{history.Command{Name: "PTTL", Args: []string{"a"}, Replied: 1, Reply: "5"}, kind{accepted: true}, []string{"a"}},
		// its keys stand behind their number
		{history.Command{Name: "EVALSHA", Args: []string{"x.lua", "1", "a", "t"}, Replied: 1, Reply: "1"}, kind{script: true, accepted: true, mayRenew: true}, []string{"a"}},
		// without keys, any argument may be one
		{history.Command{Name: "FCALL", Args: []string{"x", "0", "a", "t"}, Replied: 1, Reply: "0"}, kind{script: true, mayRenew: true}, []string{"a", "t"}},
		{history.Command{Name: "PING", Replied: 1, Reply: "PONG"}, kind{}, nil},
	} {
		got := kind{c.command.IsScript(), c.command.Accepted(), c.command.MayRenew()}
		if keys := c.command.Keys(); got != c.want || !slices.Equal(keys, c.keys) {
			t.Errorf("%s %q → %s: %+v and keys %q, want %+v and %q", c.command.Name, c.command.Args, c.command.Reply, got, keys, c.want, c.keys)
		}
	}
}
