package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

// TestTransactionsQueueEverything: what a node does itself is queued like the rest, and done at EXEC.
func TestTransactionsQueueEverything(t *testing.T) {
	now := time.Now()
	got := asked(testNode(t, now), now, "MULTI", "SET k 1", "EVAL return(redis.call('GET',KEYS[1])) 1 k", "PUBLISH c m", "SCRIPT EXISTS ffff", "BLPOP l 0", "EXEC")
	want := "+OK +QUEUED +QUEUED +QUEUED +QUEUED +QUEUED *5 +OK $1 1 :0 *1 :0 *-1"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("answers %s\nwant    %s", text, want)
	}
}

// TestUnsimulatedCommandIsRefusedByName: the search says so, and blames nobody, whether a lock sends it, queues it or has a script call it.
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
	}
	s := New(nil)
	defer s.Close()
	for _, row := range rows {
		t.Run(row.send, func(t *testing.T) {
			v := impls.Variant{Name: "lock", Kind: history.Mutex, Topology: impls.Standalone, New: func(env impls.Env) (impls.Lock, error) {
				return badLock{harm: func() {
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
			r, err := s.Explore(t.Context(), ExploreConfig{Program: DefaultProgram(v), Schedules: 10})
			if err != nil {
				t.Fatal(err)
			}
			if want := "not explorable: lock sends " + row.name + ", which the simulator does not do as Redis does"; r.Verdict != "inconclusive" || r.Reason != want {
				t.Errorf("%s, %q; want inconclusive, %q", r.Verdict, r.Reason, want)
			}
		})
	}
}

// TestWhoWaitedLongestIsServed: not who has the lower number; and what one is given may be what another waits for.
func TestWhoWaitedLongestIsServed(t *testing.T) {
	rows := []struct{ second, first, then, gets string }{ // the second connection asks first
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
