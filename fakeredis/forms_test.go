package fakeredis

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/testneeds"
)

// TestFormsAreThoseOfRedis compares what package resp says of commands with what redis-server says
// of them. A command that only changes data by a script or a transaction, or wakes others, is no
// write to redis-server.
func TestFormsAreThoseOfRedis(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: testneeds.RedisServer(t)})
	defer client.Close()
	all, err := client.Do(t.Context(), "COMMAND").Slice()
	if err != nil {
		t.Fatal(err)
	}
	wakes := names("EVAL EVALSHA FCALL EXEC PUBLISH SPUBLISH XGROUP")
	for len(all) > 0 {
		c := all[0].([]any)
		name, words, flags := strings.ToUpper(c[0].(string)), int(c[1].(int64)), c[2].([]any)
		all = append(all[1:], c[9].([]any)...)
		if container, _, sub := strings.Cut(name, "|"); sub && !containers[container] {
			continue
		}
		if got := resp.Words(name); got != words {
			t.Errorf("%s has %d words, want %d", name, got, words)
		}
		if got, want := resp.InScripts(name), !slices.Contains(flags, any("noscript")); got != want {
			t.Errorf("%s in scripts: %v, want %v", name, got, want)
		}
		if got, want := resp.IsWrite(name), slices.Contains(flags, any("write")) || wakes[name]; got != want {
			t.Errorf("%s writes: %v, want %v", name, got, want)
		}
		if first := int(c[3].(int64)); first > 0 && exact[name] {
			args := make([]string, max(words, -words)+1)
			args[0] = name
			if keys := resp.Keys(args); len(keys) == 0 {
				t.Errorf("%s has no keys, want the first at %d", name, first)
			}
		}
	}
}
