package servers

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/testneeds"
)

// machines makes two processes in one directory tree, not started.
func machines(t *testing.T) (one, two *processMachine) {
	t.Helper()
	binary := testneeds.RedisBinary(t)
	workspace, err := newWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(one.close(), two.close(), workspace.Close()); err != nil {
			t.Error(err)
		}
	})
	spec, _ := Spec{Topology: impls.Independent, Nodes: 2}.fill()
	if one, err = newProcessMachine(spec, workspace, binary, 0, ""); err != nil {
		t.Fatal(err)
	}
	if two, err = newProcessMachine(spec, workspace, binary, 1, ""); err != nil {
		t.Fatal(err)
	}
	return one, two
}

// If two servers chose the same port, the second does not take the first one's replies for its own.
func TestPortTakenByAnotherRedis(t *testing.T) {
	one, two := machines(t)
	for i, arg := range two.args {
		if arg == strconv.Itoa(two.port) {
			two.args[i] = strconv.Itoa(one.port)
		}
	}
	two.port = one.port
	first := &node{machine: one, name: "one", state: dead}
	if err := first.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := &node{machine: two, name: "two", state: dead}
	if err := second.up(t.Context()); !errors.Is(err, ErrPortTaken) {
		t.Errorf("start on a taken port: %v, want %v", err, ErrPortTaken)
	}
}

// A server that ends unexpectedly returns an error with the end of its log, at once instead of
// after a time-out.
func TestServerThatEnds(t *testing.T) {
	one, _ := machines(t)
	one.args = append(one.args, "--no-such-setting", "1")
	n := &node{machine: one, name: "one", state: dead}
	err := n.up(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("the log is not in the error: %v", err)
	}
	if n.state != dead || one.addr() != "" {
		t.Errorf("a server that ended is %s at %q", n.state, one.addr())
	}
}

// Ports lie outside the kernel's range for clients, and can be bound.
func TestFreePort(t *testing.T) {
	seen := map[int]bool{}
	for range 100 {
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		if port < firstPort || port+busDistance >= 32768 {
			t.Fatalf("port %d or its bus port is in the kernel's range", port)
		}
		seen[port] = true
	}
	if len(seen) < 50 {
		t.Errorf("100 attempts gave only %d ports: runs side by side would collide", len(seen))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if portFree(l.Addr().(*net.TCPAddr).Port) {
		t.Error("a port with a listener is not free")
	}
}

// A wait ends with its context, and the error says what it waited for.
func TestPollEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	err := poll(ctx, "answer", func() (bool, error) {
		if asked++; asked == 3 {
			cancel()
		}
		return false, nil
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "answer") {
		t.Errorf("after %d polls: %v", asked, err)
	}
}
