package sim

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// TestTapesOfOtherSchemasAreRefused: the error for a tape of the first version differs from that
// for other files.
func TestTapesOfOtherSchemasAreRefused(t *testing.T) {
	rows := []struct {
		schema  string
		old     bool
		refused bool
	}{
		{tapeSchema, false, false},
		{tapeSchemaV1, true, true},
		{"lockbench/tape/v3", false, true}, // a later lockbench's
		{"", false, true},
	}
	for _, row := range rows {
		_, err := ReadTape(strings.NewReader(`{"schema": "` + row.schema + `", "property": "progress", "cause": "unknown"}`))
		if (err != nil) != row.refused || errors.Is(err, errOldTape) != row.old {
			t.Errorf("schema %q: %v; want an error: %v, that of an old tape: %v", row.schema, err, row.refused, row.old)
		}
	}
}

// greeting is a hook of a Redis client that sends one more command after opening a connection.
type greeting struct{ command string }

func (g greeting) DialHook(dial redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		cn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if _, err := cn.Write([]byte(g.command)); err != nil {
			return nil, err
		}
		_, err = cn.Read(make([]byte, 64))
		return cn, err
	}
}

func (greeting) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (greeting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// greets is a lock whose client sends one more command on each connection.
func greets(v impls.Variant, command string) impls.Variant {
	make := v.New
	v.New = func(env impls.Env) (impls.Lock, error) {
		for _, c := range env.Nodes {
			c.AddHook(greeting{command})
		}
		return make(env)
	}
	return v
}

// TestTapeOutlivesHandshakes: a tape names requests, so it leads a client that sends one more
// command on every connection through the same schedule, whether or not that command is a known
// handshake.
func TestTapeOutlivesHandshakes(t *testing.T) {
	h := newSimulator(t)
	for _, lock := range []string{"token", "setnx-expire", "redlock"} {
		for seed := range uint64(20) {
			p := program(t, lock, "hot", 2)
			p.Seed = seed
			b := Bounds{Faults: []string{"lose-reply", "delay-request", "pause-client"}, MaxFaults: 1, MaxWaits: 1}
			recorded := simulate(t, h, p, NewRandom(seed, b, 30), b)
			for _, command := range []string{"PING", "ECHO"} {
				other := p
				other.Variant = greets(p.Variant, map[string]string{"PING": "*1\r\n$4\r\nPING\r\n", "ECHO": "*2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n"}[command])
				out := simulate(t, h, other, &follow{choices: recorded.choices(), commands: recorded.commandNames()}, b)
				if out.Missed > 0 {
					t.Errorf("%s, seed %d, with %s: %d of %d choices were not possible: %v", lock, seed, command, out.Missed, len(recorded.tape), recorded.choices())
				}
				if out.Hash != recorded.Hash {
					t.Errorf("%s, seed %d: another trace", lock, seed)
				}
				if a, b := messages(recorded), messages(out); a != b {
					t.Errorf("%s, seed %d, with %s: the messages were\n%s\nthey are\n%s", lock, seed, command, a, b)
				}
			}
		}
	}
}

// messages returns the requests and replies of a trace in order, without ECHO.
func messages(out Outcome) string {
	var b strings.Builder
	for _, line := range out.Trace {
		_, what, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if (strings.HasPrefix(what, "-> ") || strings.HasPrefix(what, "<- ")) && !strings.Contains(what, "ECHO") {
			b.WriteString(what + "\n")
		}
	}
	return b.String()
}
