package inject

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// scriptedServer answers every request, read as RESP arrays of bulk strings, with the next reply.
func scriptedServer(t *testing.T, replies ...string) (dial func(context.Context, string, string) (net.Conn, error), requests chan string) {
	t.Helper()
	ours, theirs := net.Pipe()
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	requests = make(chan string, 10)
	go func() {
		in := bufio.NewReader(theirs)
		for _, reply := range replies {
			head, err := in.ReadString('\n')
			if err != nil {
				return
			}
			var words []string
			for range int(head[1] - '0') {
				_, _ = in.ReadString('\n')
				w, _ := in.ReadString('\n')
				words = append(words, strings.TrimSpace(w))
			}
			requests <- strings.Join(words, " ")
			if _, err := io.WriteString(theirs, reply); err != nil {
				return
			}
		}
	}()
	return func(context.Context, string, string) (net.Conn, error) { return ours, nil }, requests
}

const (
	setRequest = "*3\r\n$5\r\nSETNX\r\n$3\r\njob\r\n$1\r\n1\r\n"
	getRequest = "*2\r\n$3\r\nGET\r\n$3\r\njob\r\n"
)

// solo is one client behind its gate, with the Director of its plan.
type solo struct {
	*Goroutine
	*faults.Director
	world *World
	start time.Time
}

const testLease = 100 * time.Millisecond

func newSolo(plan ...faults.Spec) *solo {
	s := &solo{Goroutine: NewGoroutine(), start: time.Now()}
	s.world = NewWorld(Config{Timeline: s.now})
	s.world.Enlist(1, s.Goroutine)
	s.Director = faults.NewDirector(faults.NewPlan(plan, testLease, false), faults.DirectorConfig{World: s.world, Lease: testLease, Clients: 1})
	return s
}

func (s *solo) now() int64 { return int64(time.Since(s.start)) }

func (s *solo) watch(e faults.Event) error {
	s.Event(context.Background(), e, nil)
	return s.Rest(context.Background())
}

// openWire opens a connection of a wire, with what it lacks, to node 3. It returns what is recorded.
func openWire(tb testing.TB, w *Wire, dial func(context.Context, string, string) (net.Conn, error)) (net.Conn, *[]history.Command) {
	tb.Helper()
	var seen []history.Command
	w.Client, w.Dial = 1, dial
	if w.Gate == nil {
		w.Gate = NewGoroutine()
	}
	if w.Done == nil {
		w.Done = func(c history.Command) { c.Args = slices.Clone(c.Args); seen = append(seen, c) }
	}
	if w.Timeline == nil {
		w.Timeline = func() int64 { return 1 }
	}
	if w.Node == nil {
		w.Node = func(string) int { return 3 }
	}
	c, err := w.Open(tb.Context(), "tcp", "127.0.0.1:1")
	must(tb, err)
	return c, &seen
}

// wire is the wire of the client, with the faults of its plan.
func (s *solo) wire() *Wire {
	return &Wire{Gate: s.Goroutine, Plan: s.Plan(), Watch: s.watch, Timeline: s.now}
}

// A client of RESP3 may subscribe on the connection of its requests: the confirmation is a push,
// and the next reply answers the next request.
func TestWireGivesRepliesToTheirRequests(t *testing.T) {
	const subscribe, confirmed = "*2\r\n$9\r\nSUBSCRIBE\r\n$4\r\nfree\r\n", ">3\r\n$9\r\nsubscribe\r\n$4\r\nfree\r\n:1\r\n"
	const message = ">3\r\n$7\r\nmessage\r\n$4\r\nfree\r\n$1\r\n1\r\n"
	synctest.Test(t, func(t *testing.T) {
		dial, _ := scriptedServer(t, confirmed, message+"$5\r\nhello\r\n", ":1\r\n")
		c, seen := openWire(t, newSolo().wire(), dial)
		for _, req := range []string{subscribe, getRequest, setRequest} {
			if _, err := io.WriteString(c, req); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(make([]byte, 100)); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		var got []string
		for _, cmd := range *seen {
			got = append(got, fmt.Sprintf("n%d %s %v: %s", cmd.Node, cmd.Name, cmd.Args, cmd.Reply))
		}
		if want := []string{`n3 SUBSCRIBE [free]: ["subscribe", "free", 1]`, `n3 GET [job]: "hello"`, "n3 SETNX [job 1]: 1"}; !slices.Equal(got, want) {
			t.Errorf("recorded %q, want %q", got, want)
		}
	})
}

func TestWireCrashAfterApplied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, requests := scriptedServer(t, ":1\r\n")
		s := newSolo(faults.Spec{Fault: faults.CrashClient, Client: 1, When: faults.Trigger{Reply: "acquire *w"}})
		c, seen := openWire(t, s.wire(), dial)
		s.Plan().Reach(1, history.Calling)
		if _, err := io.WriteString(c, setRequest); err != nil {
			t.Fatal(err)
		}
		n, err := c.Read(make([]byte, 100))
		if n != 0 || !errors.Is(err, impls.ErrCrashed) {
			t.Errorf("the dead client read %d bytes, %v; want none and ErrCrashed", n, err)
		}
		if got := <-requests; got != "SETNX job 1" {
			t.Errorf("the server saw %q", got)
		}
		if len(*seen) != 1 || (*seen)[0].Replied != 0 || (*seen)[0].Reply != "1" {
			t.Errorf("recorded %+v; want the reply that came and was not seen", *seen)
		}
		if _, err := io.WriteString(c, getRequest); !errors.Is(err, impls.ErrCrashed) {
			t.Errorf("the dead client wrote: %v", err)
		}
	})
}

func TestWirePauseHoldsTheRequestBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, requests := scriptedServer(t, ":1\r\n")
		s := newSolo(faults.Spec{Fault: faults.PauseClient, Client: 1, When: faults.Trigger{Request: "acquire SETNX"}, For: faults.Span{Leases: 1}})
		c, _ := openWire(t, s.wire(), dial)
		s.Plan().Reach(1, history.Calling)
		go func() { _, _ = io.WriteString(c, setRequest) }()
		synctest.Wait()
		select {
		case got := <-requests:
			t.Fatalf("the server saw %q while the client was stopped", got)
		default:
		}
		<-requests
		if got := time.Since(s.start); got != testLease {
			t.Errorf("the request arrived after %v, want %v", got, testLease)
		}
	})
}

// TestWireAsksForSources: the first call of a script whose source nobody has sent reaches the node
// under a digest that no script has; other calls pass unchanged.
func TestWireAsksForSources(t *testing.T) {
	const source = "return 1"
	digest, none := fmt.Sprintf("%x", sha1.Sum([]byte(source))), strings.Repeat("0", 2*sha1.Size)
	evalsha := func(digest string) []string { return []string{"EVALSHA", digest, "1", "k\xff"} }
	rows := []struct {
		name       string
		node       int
		sent, want [][]string
	}{
		{"by digest alone", 0, [][]string{evalsha(digest), evalsha(digest)}, [][]string{evalsha(none), evalsha(digest)}},
		{"in capitals", 0, [][]string{evalsha(strings.ToUpper(digest))}, [][]string{evalsha(none)}},
		{"the source was sent before", 0, [][]string{{"EVAL", source, "0"}, evalsha(digest)}, [][]string{{"EVAL", source, "0"}, evalsha(digest)}},
		{"it was loaded before", 0, [][]string{{"SCRIPT", "LOAD", source}, evalsha(digest)}, [][]string{{"SCRIPT", "LOAD", source}, evalsha(digest)}},
		{"of the guarded store, which is not executed again", -1, [][]string{evalsha(digest)}, [][]string{evalsha(digest)}},
	}
	for _, row := range rows {
		near, far := net.Pipe()
		c, _ := openWire(t, &Wire{Scripts: new(Scripts), Node: func(string) int { return row.node }},
			func(context.Context, string, string) (net.Conn, error) { return near, nil })
		for i, args := range row.sent {
			go c.Write(resp.AppendRequest(nil, args...))
			want := resp.AppendRequest(nil, row.want[i]...)
			got := make([]byte, len(want))
			if _, err := io.ReadFull(far, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s, request %d: the node got %q, want %q (%v)", row.name, i, got, want, err)
			}
		}
		c.Close()
		far.Close()
	}
}

// TestWireTellsOfScripts: a script is recorded by its digest, whichever way it is called, and its
// source is reported once.
func TestWireTellsOfScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const source = "return 1"
		digest := fmt.Sprintf("%x", sha1.Sum([]byte(source)))
		dial, _ := scriptedServer(t, ":1\r\n", ":1\r\n", ":1\r\n")
		var told []history.Script
		c, seen := openWire(t, &Wire{First: 1 << 32, Source: func(s history.Script) { told = append(told, s) }}, dial)
		buf := make([]byte, 100)
		for _, args := range [][]string{{"EVALSHA", strings.ToUpper(digest), "0"}, {"EVAL", source, "0"}, {"EVAL", source, "0", strings.Repeat("x", history.MaxArg+1)}} {
			if _, err := c.Write(resp.AppendRequest(nil, args...)); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
		if len(told) != 1 || told[0] != (history.Script{Digest: digest, Source: source}) {
			t.Errorf("told of %v", told)
		}
		for i, cut := range []bool{false, false, true} {
			if got := (*seen)[i]; got.Script != digest || got.Cut != cut || got.Conn != 1<<32+1 || got.Args[0] != digest {
				t.Errorf("command %d: %+v", i, got)
			}
		}
	})
}
