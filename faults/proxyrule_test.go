package faults

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
)

func TestProxyLosesReply(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 3)
	struck := make(chan Strike, 1)
	remove := r.proxy.Add(Rule{Client: "c1", Reply: "acquire SET", Key: "lock", Nth: 2, Do: Cut, Struck: func(s Strike) { struck <- s }})
	ctx := t.Context()
	c.Set(ctx, "lock", "0", 0) // in no acquire: does not count
	r.enter(InAcquire)
	c.Set(ctx, "other", "0", 0) // another key: does not count
	if err := c.Set(ctx, "lock", "1", 0).Err(); err != nil {
		t.Fatalf("the first match is to pass: %v", err)
	}
	if err := c.Set(ctx, "lock", "2", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("the second match: %v, want EOF", err)
	}
	if v, _ := r.node.Get("lock"); v != "2" {
		t.Errorf("the node has %q: the request is to be applied", v)
	}
	if s := <-struck; s.Command.Reply != "OK" || s.Client != "c1" || s.Node != 0 || s.End < s.Start {
		t.Errorf("strike %+v", s)
	}
	if err := c.Set(ctx, "lock", "3", 0).Err(); err != nil {
		t.Errorf("after it, on a new connection: %v", err)
	}
	remove()
	remove()
	var all []history.Command
	// The end of the connection that was cut is recorded beside what its client does next.
	eventually(t, "all are recorded", func() bool { all = r.commands("SET"); return len(all) == 5 })
	lost := slices.IndexFunc(all, func(c history.Command) bool { return slices.Equal(c.Args, []string{"lock", "2"}) })
	if lost < 0 || all[lost].Replied != 0 || all[lost].Reply != "" {
		t.Errorf("the lost one is to be recorded as unanswered: %+v", all)
	}
}

func TestProxyLosesRequest(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 2)
	r.proxy.Add(Rule{Request: "any *w", Do: Cut})
	if err := c.Get(t.Context(), "lock").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("a read does not match: %v", err)
	}
	if err := c.Set(t.Context(), "lock", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want EOF", err)
	}
	if r.node.Exists("lock") {
		t.Error("the request is not to reach the node")
	}
}

// A refused SET NX is no match for commands that write.
func TestProxyReplyOfAWriteThatWrote(t *testing.T) {
	r := newRig(t)
	c := r.client(t, 3)
	r.proxy.Add(Rule{Reply: "any *w", Do: Cut})
	if err := r.node.Set("lock", "taken"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); err != nil {
		t.Errorf("refused, so not a match: %v", err)
	}
	r.node.Del("lock")
	if err := c.SetNX(t.Context(), "lock", "1", 0).Err(); !errors.Is(err, io.EOF) {
		t.Errorf("granted: %v, want EOF", err)
	}
}

func TestProxyHolds(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rule    Rule
		applied bool // while it is held
	}{
		{"a request", Rule{Request: "any SET", Do: Hold}, false},
		{"a reply", Rule{Reply: "any SET", Do: Hold}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			c := r.client(t, 3)
			held, free := make(chan struct{}), make(chan struct{})
			tt.rule.Wait = func(<-chan struct{}) { close(held); <-free }
			r.proxy.Add(tt.rule)
			done := make(chan error, 1)
			go func() { done <- c.Set(t.Context(), "k", "1", 0).Err() }()
			<-held
			if r.node.Exists("k") != tt.applied {
				t.Errorf("applied while held: %v", r.node.Exists("k"))
			}
			select {
			case err := <-done:
				t.Errorf("answered while held: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			close(free)
			if err := <-done; err != nil || !r.node.Exists("k") {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestProxyDropsAndLives(t *testing.T) {
	r := newRig(t)
	conn := r.dial(t)
	r.proxy.Add(Rule{Request: "any SET", Do: Drop, Times: -1})
	write(t, conn, "SET a 1\r\nSET b 1\r\nPING\r\n")
	if got := read(t, conn, 7); got != "+PONG\r\n" || r.node.Exists("a") || r.node.Exists("b") {
		t.Errorf("got %q", got)
	}
}
