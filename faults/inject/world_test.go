package inject

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/servers"
)

// theatre is a deployment with a proxy before each node, one client, and what was measured.
type theatre struct {
	*faults.Director
	servers servers.Deployment
	proxy   *Proxy
	world   *World
	links   []*Link
}

func newTheatre(t *testing.T, spec servers.Spec, plan []faults.Spec) *theatre {
	t.Helper()
	start := time.Now()
	s := &theatre{servers: startServer(t, spec)}
	s.world = NewWorld(Config{Timeline: func() int64 { return int64(time.Since(start)) }, Servers: s.servers, Keys: s.keys})
	s.Director = faults.NewDirector(faults.NewPlan(plan, testLease, false), faults.DirectorConfig{World: s.world, Lease: testLease, Clients: 1})
	s.proxy = NewProxy(ProxyConfig{Traffic: Watched{t.Context(), s.Director}})
	s.world.SetProxy(s.proxy)
	for node := range s.servers.Len() {
		link, err := s.proxy.Open(LinkConfig{Client: 1, Node: node, Dial: func(ctx context.Context) (net.Conn, error) { return s.servers.Dial(ctx, node) }})
		must(t, err)
		s.links = append(s.links, link)
	}
	t.Cleanup(func() { s.close(t) })
	s.Start(t.Context())
	return s
}

func (s *theatre) close(t *testing.T) {
	s.world.Stop()
	if err := errors.Join(s.Close(), s.proxy.Close()); err != nil {
		t.Error(err)
	}
}

func (s *theatre) keys(ctx context.Context, node int) ([]string, error) {
	return s.client(node).Keys(ctx, "lock*").Result()
}

// complete waits for a number of windows.
func complete(t *testing.T, d *faults.Director, n int) (got []history.Window) {
	t.Helper()
	eventually(t, "the window of the fault", func() bool {
		got = d.Complete()
		return len(got) >= n
	})
	return got
}

// client is a client of a node, past the proxy.
func (s *theatre) client(node int) *redis.Client {
	return redis.NewClient(&redis.Options{MaxRetries: -1, Protocol: 2, DisableIdentity: true, ReadTimeout: time.Second,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.servers.Dial(ctx, node) }})
}

func (s *theatre) ping(ctx context.Context, node int) error {
	conn, err := s.links[node].Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 7))
	return err
}

var span100, span400 = faults.Span{Fixed: 100 * time.Millisecond}, faults.Span{Fixed: 400 * time.Millisecond}

// Each fault is in force while it lasts, gone after it, and measured.
func TestInjectAndHeal(t *testing.T) {
	for _, tt := range []struct {
		spec    faults.Spec
		server  servers.Spec
		inForce func(s *theatre, t *testing.T) bool
		node    int
	}{
		{faults.Spec{Fault: faults.BlackholeClient, Client: 1, For: span400}, servers.Spec{}, (*theatre).silent, -1},
		{faults.Spec{Fault: faults.PartitionNodes, Node: 1, For: span400}, servers.Spec{}, (*theatre).silent, 0},
		{faults.Spec{Fault: faults.SlowNetwork, By: span400, For: span400}, servers.Spec{}, (*theatre).silent, -1},
		{faults.Spec{Fault: faults.PauseServer, Node: 1, For: span400}, servers.Spec{}, (*theatre).silent, 0},
		{faults.Spec{Fault: faults.KillServer, Node: 1, For: span400}, servers.Spec{}, (*theatre).refused, 0},
		{faults.Spec{Fault: faults.JumpClock, Node: 1, By: faults.Span{Fixed: time.Hour}, For: span400}, servers.Spec{ClockFaults: true}, (*theatre).ahead, 0},
	} {
		t.Run(tt.spec.Fault, func(t *testing.T) {
			tt.server.Topology, tt.server.Name = impls.Standalone, "inject"
			s := newTheatre(t, tt.server, nil)
			s.Place(t.Context(), tt.spec, "now", nil)
			if !tt.inForce(s, t) {
				t.Error("not in force when the injection returned")
			}
			w := complete(t, s.Director, 1)[0]
			eventually(t, "the end of the fault", func() bool { return !tt.inForce(s, t) })
			if !w.Confirmed || w.Fault != tt.spec.Fault || w.Node != tt.node || w.Moment != "now" || time.Duration(w.End-w.Start) < 400*time.Millisecond {
				t.Errorf("window %+v", w)
			}
		})
	}
}

// silent reports whether no reply comes within 60 ms.
func (s *theatre) silent(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
	defer cancel()
	return s.ping(ctx, 0) != nil
}

func (s *theatre) refused(t *testing.T) bool {
	var op *net.OpError
	err := s.ping(t.Context(), 0)
	return errors.As(err, &op)
}

// ahead reports whether the node's clock is ahead by more than half an hour.
func (s *theatre) ahead(t *testing.T) bool {
	now, err := s.client(0).Time(t.Context()).Result()
	must(t, err)
	return time.Until(now) > 30*time.Minute
}

// The clock of a node that another fault has stopped is set right when the node resumes.
func TestInjectClockOfAStoppedNode(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Standalone, Name: "inject", ClockFaults: true}, nil)
	s.Place(t.Context(), faults.Spec{Fault: faults.JumpClock, Node: 1, By: faults.Span{Fixed: time.Hour}, For: span100}, "now", nil)
	s.Place(t.Context(), faults.Spec{Fault: faults.PauseServer, Node: 1, For: span400}, "now", nil)
	for _, w := range complete(t, s.Director, 2) {
		if !w.Confirmed {
			t.Errorf("window %+v", w)
		}
	}
	if s.ahead(t) {
		t.Error("the clock is still ahead")
	}
}

// The effects of a drift say how far the clock was when it was set right, also with a jump
// meanwhile, and the jump does not end the drift.
func TestInjectDriftIsMeasured(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Standalone, Name: "inject", ClockFaults: true}, nil)
	s.Place(t.Context(), faults.Spec{Fault: faults.DriftClock, Node: 1, Rate: 3, For: span400}, "now", nil)
	s.Place(t.Context(), faults.Spec{Fault: faults.JumpClock, Node: 1, By: faults.Span{Fixed: time.Hour}}, "now", nil)
	w := complete(t, s.Director, 2)[1] // the jump's was over first
	if len(w.Effects) != 3 || w.Effects[2].What != history.ClockSet {
		t.Fatalf("window %+v", w)
	}
	lasted := time.Duration(w.Effects[1].At - w.Effects[0].At)
	if off := time.Duration(-w.Effects[2].By) - time.Hour; off < lasted*3/2 || off > lasted*5/2 {
		t.Errorf("set right by %v and an hour after %v at three times the rate", off, lasted)
	}
}

func TestInjectAtOnce(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Standalone, Name: "inject"}, nil)
	ctx := t.Context()
	c := s.client(0)
	digest := c.ScriptLoad(ctx, "return 1").Val()
	for _, key := range []string{"lock", "lock:fence", "other"} {
		c.Set(ctx, key, "v", 0)
	}
	s.Place(ctx, faults.Spec{Fault: faults.FlushScripts}, "now", nil)
	s.Place(ctx, faults.Spec{Fault: faults.DeleteKey}, "now", nil)
	if known := c.ScriptExists(ctx, digest).Val(); known[0] {
		t.Error("the script is still known")
	}
	if left := c.Keys(ctx, "*").Val(); !slices.Equal(left, []string{"other"}) {
		t.Errorf("keys left: %q", left)
	}
	s.Place(ctx, faults.Spec{Fault: faults.DeleteKey}, "again", nil)
	w := complete(t, s.Director, 3)
	if !w[0].Confirmed || !w[1].Confirmed || w[1].Note != "2 keys deleted" || w[2].Confirmed || w[2].Moment != "again" {
		t.Errorf("windows %+v", w)
	}
}

// A fault that finds nothing to evict is not confirmed.
func TestInjectEviction(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Standalone, Name: "inject"}, nil)
	ctx, c := t.Context(), s.client(0)
	c.Set(ctx, "lock", "v", time.Minute)
	c.Set(ctx, "lock:fence", "1", 0)
	s.Place(ctx, faults.Spec{Fault: faults.EvictKeys}, "now", nil)
	if left := c.Keys(ctx, "*").Val(); len(left) != 0 {
		t.Errorf("keys left: %q", left)
	}
	s.Place(ctx, faults.Spec{Fault: faults.EvictKeys}, "again", nil)
	w := complete(t, s.Director, 2)
	if !w[0].Confirmed || w[0].Note != "2 keys of the lock, 2 evictions of them" || w[0].End <= w[0].Start || w[1].Confirmed {
		t.Errorf("windows %+v", w)
	}
}

// A deletion is confirmed although the replica still has the key: it refuses writes, and will
// follow its primary.
func TestInjectDeleteKeyOnAReplicatedPair(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Replicated, Name: "inject"}, nil)
	s.world.cfg.Keys = func(context.Context, int) ([]string, error) { return []string{"lock"}, nil } // on both
	must(t, s.client(0).Set(t.Context(), "lock", "v", 0).Err())
	s.Place(t.Context(), faults.Spec{Fault: faults.DeleteKey}, "now", nil)
	if w := complete(t, s.Director, 1)[0]; !w.Confirmed || w.Note != "1 keys deleted" {
		t.Errorf("window %+v", w)
	}
	if n, err := s.client(0).Exists(t.Context(), "lock").Result(); err != nil || n != 0 {
		t.Errorf("the primary has %d, %v", n, err)
	}
}

// A node that is down does not prevent the deletion of the key on the others.
func TestInjectDeleteKeyBesideADeadNode(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Independent, Nodes: 3, Name: "inject"}, nil)
	for node := range 3 {
		must(t, s.client(node).Set(t.Context(), "lock", "v", 0).Err())
	}
	must(t, s.servers.Kill(t.Context(), 0))
	s.Place(t.Context(), faults.Spec{Fault: faults.DeleteKey}, "now", nil)
	if w := complete(t, s.Director, 1)[0]; !w.Confirmed || !strings.HasPrefix(w.Note, "2 keys deleted; ") {
		t.Errorf("window %+v", w)
	}
}

// Grants after the end of replication are lost at the promotion, and the window of each failover
// says what the replica had.
func TestInjectFailover(t *testing.T) {
	for _, tt := range []struct {
		name string
		// values of the lock's key set before the fault is injected and, where that is not the
		// failover itself, after it
		before, after string
		spec          faults.Spec
		replica       string
		left          int64
	}{
		{"a grant after the end of replication", "", "v", faults.Spec{Fault: faults.Failover, For: span100}, history.LackedKey, 0},
		{"a grant before it", "v", "", faults.Spec{Fault: faults.Failover, For: span100}, history.HadKey, 1},
		{"an older grant", "old", "v", faults.Spec{Fault: faults.Failover, For: span100}, history.LackedKey, 1},
		{"no grant", "", "", faults.Spec{Fault: faults.Failover, For: span100}, "", 0},
		{"at once", "v", "", faults.Spec{Fault: faults.Failover}, history.HadKey, 1},
		{"at once, without a grant", "", "", faults.Spec{Fault: faults.Failover}, history.LackedKey, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTheatre(t, servers.Spec{Topology: impls.Replicated, Name: "inject"}, nil)
			ctx := t.Context()
			if tt.before != "" {
				c := s.client(0).Conn()
				c.Set(ctx, "lock", tt.before, 0)
				if n := c.Wait(ctx, 1, 10*time.Second).Val(); n != 1 {
					t.Fatal("the replica does not follow")
				}
				c.Close()
			}
			s.Place(ctx, tt.spec, "now", nil)
			if tt.after != "" {
				must(t, s.client(0).Set(ctx, "lock", tt.after, 0).Err())
			}
			if w := complete(t, s.Director, 1)[0]; !w.Confirmed || w.Replica != tt.replica || w.End <= w.Start {
				t.Errorf("window %+v, want %q", w, tt.replica)
			}
			if n, err := s.client(0).Exists(ctx, "lock").Result(); err != nil || n != tt.left {
				t.Errorf("the promoted replica has %d, %v", n, err)
			}
		})
	}
}

// A plan: one fault from the start, one at a time, one of a single reply; the end of the run ends
// them.
func TestInjectPlan(t *testing.T) {
	s := newTheatre(t, servers.Spec{Topology: impls.Independent, Nodes: 2, Name: "inject"}, []faults.Spec{
		{Fault: faults.PartitionNodes, Node: 2},
		{Fault: faults.FlushScripts, Node: 1, When: faults.Trigger{After: faults.Span{Fixed: 20 * time.Millisecond}}},
		{Fault: faults.LoseReply, Client: 1, When: faults.Trigger{Reply: "any PING"}},
		{Fault: faults.DelayReply, Client: 1, When: faults.Trigger{Reply: "any PING", Nth: 2}, For: span100},
		{Fault: faults.PauseClient, Client: 1, When: faults.Trigger{Moment: "entered"}, For: span100}, // the Director's
	})
	if err := s.ping(t.Context(), 0); err == nil {
		t.Error("the first reply is to be lost")
	}
	start := time.Now()
	if err := s.ping(t.Context(), 0); err != nil || time.Since(start) < 100*time.Millisecond {
		t.Errorf("the second reply is to be late: %v after %s", err, time.Since(start))
	}
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := s.ping(short, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the other node: %v", err)
	}
	var names []string
	for _, w := range complete(t, s.Director, 4) {
		names = append(names, w.Fault)
		if !w.Confirmed || w.Fault == faults.PartitionNodes && w.End != 0 {
			t.Errorf("window %+v", w)
		}
	}
	slices.Sort(names)
	if want := []string{faults.DelayReply, faults.FlushScripts, faults.LoseReply, faults.PartitionNodes}; !slices.Equal(names, want) {
		t.Errorf("measured %q, want %q", names, want)
	}
}
