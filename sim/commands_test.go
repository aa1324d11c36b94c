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

// TestTransactionsQueueEverything: commands that a node implements itself are queued like the
// others, and run at EXEC.
func TestTransactionsQueueEverything(t *testing.T) {
	now := time.Now()
	got := asked(testNode(t, now), now, "MULTI", "SET k 1", "EVAL return(redis.call('GET',KEYS[1])) 1 k", "PUBLISH c m", "SCRIPT EXISTS ffff", "BLPOP l 0", "EXEC")
	want := "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED *5 +OK $1 1 :0 *1 :0 *-1"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("answers %s\nwant    %s", text, want)
	}
}

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

// acts is a lock that grants everything, and does something before.
type acts struct{ do func() }

func (l acts) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return l.Acquire(ctx, mode)
}
func (l acts) Acquire(context.Context, history.Mode) (impls.Grant, error) {
	l.do()
	return impls.Grant{}, nil
}
func (acts) Extend(context.Context) (impls.Grant, error) { return impls.Grant{}, impls.ErrUnsupported }
func (acts) Release(context.Context) error               { return nil }
func (acts) Close() error                                { return nil }

// TestUnsimulatedCommandIsRefusedByName: the search reports it, and blames no lock, whether a lock
// sends it, queues it or a script calls it.
func TestUnsimulatedCommandIsRefusedByName(t *testing.T) {
	rows := []struct{ name, send string }{
		{"XADD", "XADD k * f v"},
		{"XREAD", "XREAD STREAMS k 0"},
		{"HEXPIRE", "HEXPIRE k 10 FIELDS 1 f"},
		{"HPEXPIRE", "HPEXPIRE k 10 FIELDS 1 f"},
		{"HTTL", "HTTL k FIELDS 1 f"},
		{"HSETEX", "HSETEX k EX 10 FIELDS 1 f v"},
		{"HPEXPIRE", "EVAL return(redis.pcall('HPEXPIRE',KEYS[1],10,'FIELDS',1,'f')) 1 k"},
		{"XADD", "MULTI XADD k * f v"},
		{"CLIENT ID", "MULTI CLIENT ID"},
		{"SELECT 1", "EVAL return(redis.pcall('SELECT','1')) 0"},
		{"PUBSUB NUMPAT", "PUBSUB NUMPAT"},
		{"CLUSTER SHARDS", "CLUSTER SHARDS"},
		{"COMMAND DOCS", "COMMAND DOCS"},
		{"GETEX EXAT", "GETEX k EXAT 1"},
		{"a script with cjson.encode", "EVAL return(cjson.encode({})) 0"},
		{"a script with struct.pack", "EVAL return(struct.pack('b',1)) 0"},
		{"a script with redis.setresp", "EVAL redis.setresp(3) 0"},
	}
	s := New(nil)
	defer s.Close()
	for _, row := range rows {
		t.Run(row.send, func(t *testing.T) {
			v := impls.Variant{Name: "lock", Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
				return acts{func() {
					command, queued := strings.CutPrefix(row.send, "MULTI ")
					var words []any
					for word := range strings.FieldsSeq(command) {
						words = append(words, word)
					}
					if queued {
						pipe := env.Redis().TxPipeline()
						pipe.Do(context.Background(), words...)
						_, _ = pipe.Exec(context.Background())
						return
					}
					env.Redis().Do(context.Background(), words...)
				}}, nil
			}}
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
	v := impls.Variant{Name: "lock", Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
		return acts{func() {
			pipe := env.Redis().TxPipeline()
			pipe.Set(context.Background(), "k", "v", 0)
			pipe.Del(context.Background(), "k")
			_, _ = pipe.Exec(context.Background())
		}}, nil
	}}
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
		{"BLMOVE q r LEFT LEFT 0", "BLMOVE q r LEFT LEFT 0", "RPUSH q x", "$1 x"},
		{"BLMPOP 0 1 q LEFT", "BLPOP q 0", "RPUSH q x", "*2 $1 q *1 $1 x"},
		{"BZPOPMIN z 0", "BZPOPMAX z 0", "ZADD z 1 x", "*3 $1 z $1 x $1 1"},
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
