package catalogue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

// longLease never ends in this test, so that both servers see the same data; whole seconds and not.
var longLeases = []time.Duration{20 * time.Second, 20*time.Second + 500*time.Millisecond}

// TestScriptsAnswerAlike runs every lock through the same story on miniredis, and sends what it sent once more to a fresh
// miniredis and to redis-server, command by command: the replies and the data must agree, or a verdict of the simulator
// says nothing about Redis.
func TestScriptsAnswerAlike(t *testing.T) {
	realServer := redistest.NewReal(t)
	onRedis := realServer.Client(t).Redis
	mini := miniredis.RunT(t)
	mini.ClockTTL(true)
	onMini := redis.NewClient(&redis.Options{Addr: mini.Addr(), MaxRetries: -1})
	defer onMini.Close()
	replayed := map[string]bool{}
	for _, v := range all() {
		if len(v.Scripts) == 0 {
			continue
		}
		for _, lease := range longLeases {
			compare(t, v, story(t, v, lease), onMini, onRedis, replayed)
		}
	}
	for _, v := range all() {
		for _, s := range v.Scripts {
			if !replayed[s.Name] {
				t.Errorf("%s: no call of %s was compared", v.Name, s.Name)
			}
		}
	}
}

// story is what clients of a lock send while they compete for it, enter again, extend, release, give up waiting, and find the
// keys gone. Of locks on several nodes it is what the first was sent.
func story(t *testing.T, v impls.Variant, lease time.Duration) [][]any {
	t.Helper()
	sent := &redistest.Commands{}
	redistest.Virtual(t, func(t *testing.T, s *redistest.Server) {
		servers := []*redistest.Server{s}
		if v.Topology == impls.Independent {
			servers = append(servers, redistest.NewVirtual(t), redistest.NewVirtual(t))
		}
		a, b := player(t, v, servers, sent, "a", lease), player(t, v, servers, sent, "b", lease)
		for _, mode := range []history.Mode{history.Exclusive, history.Shared} {
			act(t, a, mode)
			act(t, b, mode)
			_, _ = a.Extend(t.Context())
			wait(t, b, history.Exclusive)
			wait(t, b, mode)
			_ = a.Release(t.Context())
			_ = a.Release(t.Context())
			_ = b.Release(t.Context())
			act(t, a, mode)
			act(t, b, history.Exclusive)
			for _, n := range servers {
				n.Mini.FlushAll()
			}
			sent.Mark("flushall")
			_, _ = a.Extend(t.Context())
			_ = a.Release(t.Context())
			_ = a.Release(t.Context())
			act(t, b, mode)
			_ = b.Release(t.Context())
		}
	})
	return sent.TakeArgs()
}

// act tries twice: what a second try by the holder means differs from lock to lock. Refusals and what a lock cannot do are
// part of the story.
func act(t *testing.T, l impls.Lock, mode history.Mode) {
	t.Helper()
	for range 2 {
		if _, err := l.Try(t.Context(), mode); errors.Is(err, impls.ErrUnknownOutcome) {
			t.Fatalf("try: %v", err)
		}
	}
}

// wait gives up after a while.
func wait(t *testing.T, l impls.Lock, mode history.Mode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, _ = l.Acquire(ctx, mode)
}

// player opens a handle of which the first node's commands are recorded.
func player(t *testing.T, v impls.Variant, servers []*redistest.Server, sent *redistest.Commands, owner string, lease time.Duration) impls.Lock {
	t.Helper()
	first := servers[0].Client(t)
	first.RecordIn(sent)
	env := first.Env(t, owner, lease)
	env.Key, env.Permits, env.Poll = "job", 1, 5*time.Millisecond
	for _, s := range servers[1:] {
		env.Nodes = append(env.Nodes, s.Client(t).Redis)
	}
	l, err := v.New(env)
	if err != nil {
		t.Fatalf("open %s: %v", v.Name, err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// compare sends the story to both servers.
func compare(t *testing.T, v impls.Variant, story [][]any, mini, real redis.UniversalClient, replayed map[string]bool) {
	t.Helper()
	names := ScriptNames()
	// A handshake tells the server's version, and miniredis answers WAIT at once.
	story = slices.DeleteFunc(story, func(args []any) bool { return args[0] == "hello" || args[0] == "wait" })
	for _, args := range append([][]any{{"flushall"}, {"script", "flush"}}, story...) {
		one, two := reply(t, mini, args), reply(t, real, args)
		if strings.Contains(two, "unknown command") {
			continue // newer than this server
		}
		if !alike(one, two) {
			t.Errorf("%s: %v\nminiredis answers %s\nRedis answers     %s", v.Name, brief(args), one, two)
		}
		if !note(args, names, replayed) {
			continue // plain commands are for the servers to get right
		}
		if x, y := dump(t, mini), dump(t, real); !slices.EqualFunc(x, y, alike) {
			t.Fatalf("%s: after %v\nminiredis holds %q\nRedis holds     %q", v.Name, brief(args), x, y)
		}
	}
}

// note marks the script of a call as compared, and tells whether it is one.
func note(args []any, names map[string]string, replayed map[string]bool) bool {
	digest := ""
	switch fmt.Sprint(args[0]) {
	case "evalsha":
		digest = fmt.Sprint(args[1])
	case "eval":
		digest = impls.NewScript("", fmt.Sprint(args[1])).Digest()
	}
	replayed[names[digest]] = true
	return digest != ""
}

func brief(args []any) string {
	text := fmt.Sprint(args...)
	return text[:min(len(text), 300)]
}

// reply is one line; of errors only that they are: the wordings differ.
func reply(t *testing.T, c redis.UniversalClient, args []any) string {
	t.Helper()
	v, err := c.Do(t.Context(), args...).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return "(nil)"
	case err != nil && strings.Contains(err.Error(), "unknown command"):
		return "unknown command"
	case err != nil:
		return "error"
	}
	return fmt.Sprint(v)
}

// alike compares two lines word by word. Numbers above a thousand, which are times, may differ by two seconds.
func alike(one, two string) bool {
	return slices.EqualFunc(strings.Fields(one), strings.Fields(two), func(a, b string) bool {
		if a == b {
			return true
		}
		x, errX := strconv.ParseFloat(strings.Trim(a, "[]"), 64)
		y, errY := strconv.ParseFloat(strings.Trim(b, "[]"), 64)
		limit := 2000.0 // milliseconds, and microseconds of today's date
		if x > 1e14 {
			limit *= 1000
		}
		return errX == nil && errY == nil && x > 1000 && y > 1000 && max(x-y, y-x) <= limit
	})
}

// dump is all keys with their type, content and remaining milliseconds, by name.
func dump(t *testing.T, c redis.UniversalClient) []string {
	t.Helper()
	ctx := t.Context()
	keys := c.Keys(ctx, "*").Val()
	slices.Sort(keys)
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		content := ""
		switch c.Type(ctx, k).Val() {
		case "string":
			content = c.Get(ctx, k).Val()
		case "hash":
			content = fmt.Sprint(c.HGetAll(ctx, k).Val())
		case "list":
			content = fmt.Sprint(c.LRange(ctx, k, 0, -1).Val())
		case "set":
			members := c.SMembers(ctx, k).Val()
			slices.Sort(members)
			content = fmt.Sprint(members)
		case "zset":
			var members []string // by name: scores are times, which differ
			for _, z := range c.ZRangeWithScores(ctx, k, 0, -1).Val() {
				members = append(members, fmt.Sprintf("%v %.0f", z.Member, z.Score))
			}
			slices.Sort(members)
			content = strings.Join(members, " ")
		}
		out = append(out, fmt.Sprintf("%s %s %s %d", k, c.Type(ctx, k).Val(), content, c.PTTL(ctx, k).Val().Milliseconds()))
	}
	return out
}

func TestAlike(t *testing.T) {
	rows := []struct {
		one, two string
		want     bool
	}{
		{"1", "1", true},
		{"1", "0", false},
		{"job string tok 20000", "job string tok 19990", true}, // the remaining lease
		{"job string tok 20000", "job string tok -1", false},   // none
		{"job string tok 20000", "job string tok 500", false},
		{"1795175074950", "1795175075100", true},  // two clocks of the same machine
		{"1795175074950", "1795175099950", false}, // 25 s apart
		{"(nil)", "1", false},
		{"error", "(nil)", false},
	}
	for _, r := range rows {
		if alike(r.one, r.two) != r.want {
			t.Errorf("%q and %q: alike %v, want %v", r.one, r.two, !r.want, r.want)
		}
	}
}
