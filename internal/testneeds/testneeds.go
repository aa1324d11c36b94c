// Package testneeds gives tests what they need of the machine. A test that lacks it is skipped, or
// fails where the environment variable LOCKBENCH_REQUIRE, a list with commas, names it.
package testneeds

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Need ends the test if err says that the machine lacks something, by its word in
// LOCKBENCH_REQUIRE.
func Need(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if slices.Contains(strings.Split(os.Getenv("LOCKBENCH_REQUIRE"), ","), what) {
		t.Fatalf("%v, and LOCKBENCH_REQUIRE names %s", err, what)
	}
	t.Skip(err)
}

// RedisBinary returns the path of redis-server.
func RedisBinary(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		Need(t, "process", fmt.Errorf("redis-server: %w", err))
	}
	return path
}

// RedisServer starts a redis-server without persistence on a free port, with more options, and
// stops it when the test ends. It returns the address.
func RedisServer(t testing.TB, options ...string) (addr string) {
	t.Helper()
	path := RedisBinary(t)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--repl-diskless-sync-delay", "0", "--dir", t.TempDir()}, options...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("redis-server: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			return addr
		}
	}
	t.Fatalf("redis-server on %s ended before it was ready", addr)
	return ""
}
