package servers_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// logged reads a node's log to its end. Each entry is a line; absolute times are T, those in the
// past too.
func logged(t *testing.T, l *servers.Log, node int) (lines []string) {
	t.Helper()
	times := regexp.MustCompile(`\d{13}`)
	err := l.Read(node, func(e servers.Entry) {
		var commands []string
		for _, words := range e.Commands {
			commands = append(commands, times.ReplaceAllString(strings.Join(words, " "), "T"))
		}
		text := strings.Join(commands, "; ")
		if e.Effect != "" {
			text = fmt.Sprintf("%s kept=%t [%s]", e.Effect, e.Kept, text)
		}
		lines = append(lines, text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestLogHasEffects: what the log of a server has of each command and script, in the words of
// Redis.
func TestLogHasEffects(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		d := start(t, p, servers.Spec{Log: true})
		c, log := client(t, d, 0), d.Log()
		t.Cleanup(func() { _ = log.Close() })
		script := func(keys int, words ...any) []any {
			return append([]any{"EVAL", words[0], keys}, words[1:]...)
		}
		for _, row := range []struct {
			command []any
			want    []string
		}{
			{[]any{"set", "a", "1", "nx", "px", "60000"}, []string{"SET a 1 PXAT T"}},
			{[]any{"set", "a", "2", "nx", "px", "60000"}, nil}, // it is refused
			{[]any{"pexpire", "a", "70000"}, []string{"PEXPIREAT a T"}},
			{[]any{"get", "a"}, nil},
			{[]any{"expireat", "a", "1"}, []string{"DEL a"}}, // in the past
			{[]any{"del", "a"}, nil},
			{[]any{"incr", "n"}, []string{"INCR n"}},
			{[]any{"incrbyfloat", "n", "1.5"}, []string{"SET n 2.5 KEEPTTL"}},
			{[]any{"getdel", "n"}, []string{"DEL n"}},
			{[]any{"lpush", "l", "x", "y"}, []string{"LPUSH l x y"}},
			{[]any{"brpop", "l", "1"}, []string{"RPOP l"}},
			{script(1, "return redis.call('set', KEYS[1], ARGV[1], 'px', 60000)", "e", "v"), []string{"SET e v PXAT T"}},
			// it fails before it writes
			{script(1, "redis.call('incr', KEYS[2]) return redis.call('hset', KEYS[1], 'f', 1)", "h"), nil},
			{script(2, "redis.call('incr', KEYS[2]) return redis.call('hset', KEYS[1], 'f', 1)", "h", "i"), []string{"INCR i; HSET h f 1"}},
			{script(1, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", "e", "w"), nil},
			{script(1, "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0", "e", "v"), []string{"DEL e"}},
			{[]any{"flushall"}, []string{"FLUSHALL"}},
		} {
			err := c.Do(t.Context(), row.command...).Err()
			if got := logged(t, log, 0); !slices.Equal(got, row.want) {
				t.Errorf("%v (%v): the log has %q, want %q", row.command, err, got, row.want)
			}
		}
		set(t, d, 0, "short", 20*time.Millisecond)
		time.Sleep(40 * time.Millisecond)
		if err := c.SetNX(t.Context(), "short", "next", time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		ends := []string{"SET short v PXAT T; DEL short; SET short next PXAT T", "SET short v PXAT T; DEL short; SET short next PXAT T"}
		if got := strings.Join(logged(t, log, 0), "; "); !slices.Contains(ends, got) {
			t.Errorf("the end of a lease: the log has %q", got)
		}
	})
}

// TestLogGoesOn: the log of a node goes on after a restart, in which the data go or stay, and after
// a failover, which takes what was replicated.
func TestLogGoesOn(t *testing.T) {
	onEach(t, func(t *testing.T, p servers.Provider) {
		restart := func(d servers.Deployment) error {
			return errors.Join(d.Kill(t.Context(), 0), d.Restart(t.Context(), 0))
		}
		failover := func(d servers.Deployment) error {
			err := d.SetReplication(t.Context(), 0, false)
			set(t, d, 0, "lost", 0)
			perr := d.Promote(t.Context(), 0)
			return errors.Join(err, d.Kill(t.Context(), 0), perr)
		}
		for _, row := range []struct {
			name  string
			spec  servers.Spec
			fault func(servers.Deployment) error
			want  []string
			has   bool
		}{
			{"restart without data", servers.Spec{}, restart, []string{"SET before v", "restarted kept=false []", "SET after v"}, false},
			{"restart with data", servers.Spec{Persistence: impls.PersistEverySec}, restart, []string{"SET before v", "restarted kept=true []", "SET after v"}, true},
			{"failover", servers.Spec{Topology: impls.Replicated}, failover, []string{"SET before v", "SET lost v", "promoted kept=false [SET before v]", "SET after v"}, true},
		} {
			for _, late := range []bool{false, true} { // the reader may come late
				row.spec.Log = true
				d := start(t, p, row.spec)
				log := d.Log()
				t.Cleanup(func() { _ = log.Close() })
				set(t, d, 0, "before", 0)
				if row.spec.Topology == impls.Replicated {
					if err := client(t, d, 0).Do(t.Context(), "WAIT", 1, 5000).Err(); err != nil {
						t.Fatal(err)
					}
				}
				var got []string
				if !late {
					got = logged(t, log, 0)
				}
				if err := row.fault(d); err != nil {
					t.Fatal(err)
				}
				if has(t, d, 0, "before") != row.has {
					t.Errorf("%s: the data from before are there: %t, want %t", row.name, !row.has, row.has)
				}
				set(t, d, 0, "after", 0)
				if got = append(got, logged(t, log, 0)...); !slices.Equal(got, row.want) {
					t.Errorf("%s, late %t: %s", row.name, late, cmp.Diff(row.want, got))
				}
			}
		}
	})
}
