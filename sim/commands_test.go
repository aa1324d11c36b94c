package sim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
)

// TestSubscribedConnections: one that speaks RESP2 may send few commands; a slash in a channel is
// like any other character.
func TestSubscribedConnections(t *testing.T) {
	inWorld(t, Program{}, func(w *world) {
		subscribed, other := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0])
		subscribed.sends("PSUBSCRIBE lock:*:freed")
		if got := subscribed.sends("GET k"); !strings.HasPrefix(got, "-ERR Can't execute 'get'") {
			t.Errorf("a subscribed connection is answered %q", got)
		}
		if got := other.sends("PUBLISH lock:a/b:freed m"); got != ":1" {
			t.Errorf("PUBLISH reached %s subscribers, want :1", got)
		}
	})
}

// TestUnsimulatedCommandIsRefusedByName: the search reports it, and blames no lock, whether a lock
// sends it, queues it or a script calls it.
func TestUnsimulatedCommandIsRefusedByName(t *testing.T) {
	rows := []struct{ name, send string }{
		{"XADD", "XADD k * f v"},

		{"HPEXPIRE", "EVAL return(redis.pcall('HPEXPIRE',KEYS[1],10,'FIELDS',1,'f')) 1 k"},
		{"XADD", "MULTI XADD k * f v"},

		{"SELECT 1", "EVAL return(redis.pcall('SELECT','1')) 0"},
		{"PUBSUB NUMPAT", "PUBSUB NUMPAT"},

		{"GETEX EXAT", "GETEX k EXAT 1"},
		{"a script with cjson.encode", "EVAL return(cjson.encode({})) 0"},

		{"a script with redis.setresp", "EVAL redis.setresp(3) 0"},
	}
	s := New(nil)
	defer s.Close()
	for _, row := range rows {
		t.Run(row.send, func(t *testing.T) {
			v := acting("lock", func(ctx context.Context, env impls.Env) error {
				command, queued := strings.CutPrefix(row.send, "MULTI ")
				var words []any
				for word := range strings.FieldsSeq(command) {
					words = append(words, word)
				}
				if !queued {
					env.Redis().Do(ctx, words...)
					return nil
				}
				pipe := env.Redis().TxPipeline()
				pipe.Do(ctx, words...)
				_, _ = pipe.Exec(ctx)
				return nil
			})
			out, err := s.Run(DefaultProgram(v), 0)
			if err != nil {
				t.Fatal(err)
			}
			if want := "lock sends " + row.name + ", which the simulator does not do as Redis does"; !out.Unexplorable || !strings.HasPrefix(out.Crash, want) {
				t.Errorf("%v, %q; want %q", out.Unexplorable, out.Crash, want)
			}
		})
	}
}

// TestPipelineIsRecordedInOrder: its commands are sent at one instant, and a cause is read from what
// lies between MULTI and EXEC.
func TestPipelineIsRecordedInOrder(t *testing.T) {
	s := New(nil)
	defer s.Close()
	v := acting("lock", func(ctx context.Context, env impls.Env) error {
		pipe := env.Redis().TxPipeline()
		pipe.Set(ctx, "k", "v", 0)
		pipe.Del(ctx, "k")
		_, _ = pipe.Exec(ctx)
		return nil
	})
	out, err := s.Run(DefaultProgram(v), 0)
	if err != nil || len(out.Commands) < 4 {
		t.Fatal(out.Commands, err)
	}
	for i, want := range []string{"MULTI", "SET", "DEL", "EXEC"} {
		if got := out.Commands[i].Name; got != want {
			t.Errorf("command %d is %s, want %s", i, got, want)
		}
	}
}

// TestWhatALockDoesWithoutIsSaid: the simulator has no client-side caching. A lock that requests it
// polls, so the lost wake-up that bench --greedy shows on a real server cannot occur: no client
// waits for a message.
func TestWhatALockDoesWithoutIsSaid(t *testing.T) {
	s := New(catalogue.Known{})
	defer s.Close()
	for lock, lacking := range map[string]string{"rueidislock": "CLIENT TRACKING", "rueidislock-normalised": "CLIENT TRACKING", "token": "", "redsync": ""} {
		v, _ := catalogue.Find(lock)
		p := DefaultProgram(v)
		p.Load, p.Config.Pause, p.Config.Ops = "hot", 0, 2 // greedy: a client that released acquires again at once
		out, err := s.Run(p, 0)
		if err != nil || out.Lacking != lacking {
			t.Errorf("%s does without %q, %v; want %q", lock, out.Lacking, err, lacking)
		}
		if lacking == "" {
			continue
		}
		refused := slices.DeleteFunc(out.Commands, func(c history.Command) bool { return c.Reply != "(nil)" })
		if len(refused) < 10 {
			t.Errorf("%s: waiters ask %d times, want a poll every 20 ms", lock, len(refused))
		}
		for i, c := range refused[:max(len(refused)-1, 0)] {
			if next := refused[i+1]; next.Client == c.Client && time.Duration(next.Sent-c.Replied) > 25*time.Millisecond {
				t.Errorf("%s: a waiter does not ask from %v to %v, want a poll every 20 ms", lock, time.Duration(c.Replied), time.Duration(next.Sent))
			}
		}
	}
}

// TestWhoWaitedLongestIsServed: not the client with the lower number; and serving one request may
// provide what another waits for.
func TestWhoWaitedLongestIsServed(t *testing.T) {
	rows := []struct{ second, first, then, gets string }{ // the second connection sends first
		{"BLPOP q 0", "BLPOP q 0", "RPUSH q x", "*2 $1 q $1 x"},

		{"BLPOP r 0", "BLMOVE q r LEFT LEFT 0", "RPUSH q x", "*2 $1 r $1 x"},
	}
	for _, row := range rows {
		t.Run(row.second+" before "+row.first, func(t *testing.T) {
			inWorld(t, Program{}, func(w *world) {
				first, second, other := w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0]), w.sendsTo(w.nodes[0])
				if got := second.sends(row.second) + first.sends(row.first); got != "" {
					t.Errorf("answered %q without data", got)
				}
				other.sends(row.then)
				if got := second.answers(); got != row.gets {
					t.Errorf("who waited longest gets %q, want %q", got, row.gets)
				}
			})
		})
	}
}
