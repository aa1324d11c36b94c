package upstream_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/internal/resp"
	"github.com/lockbench/lockbench/internal/upstream"
)

// TestDumpOfGoroutines: a dump has the state, the bubble and the parent of a goroutine where this
// package expects them.
func TestDumpOfGoroutines(t *testing.T) {
	var mutex sync.Mutex
	var rw sync.RWMutex
	for _, row := range []struct {
		name   string
		holder sync.Locker
		waiter sync.Locker
	}{
		{"sync.Mutex.Lock", &mutex, &mutex}, {"sync.RWMutex.Lock", &rw, &rw}, {"sync.RWMutex.RLock", &rw, rw.RLocker()},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.holder.Lock()
			bubbles, ended := make(chan string, 1), make(chan struct{})
			go func() {
				defer close(ended)
				synctest.Test(new(testing.T), func(*testing.T) {
					bubbles <- upstream.OwnBubble()
					var both sync.WaitGroup
					both.Go(func() { waitFor(func() { row.waiter.Lock(); defer row.waiter.Unlock() }) })
					both.Go(func() { waitFor(func() { time.Sleep(time.Hour) }) })
					both.Wait()
				})
			}()
			bubble := <-bubbles
			if bubble == "" {
				t.Error("runtime.Stack no longer names the bubble of a goroutine")
			}
			ofBubble := func(is func(upstream.Goroutine) bool) bool {
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					if slices.ContainsFunc(upstream.Goroutines(upstream.Dump()), func(g upstream.Goroutine) bool {
						return g.Bubble == bubble && g.Number != "" && is(g)
					}) {
						return true
					}
				}
				return false
			}
			for what, is := range map[string]func(upstream.Goroutine) bool{
				"waits for the mutex, with its parent": func(g upstream.Goroutine) bool {
					return g.In("upstream_test.waitFor") && g.ForMutex() && !g.Durable() && g.Parent != ""
				},
				"sleeps, which is durable": func(g upstream.Goroutine) bool {
					return g.In("upstream_test.waitFor") && g.In("time.Sleep") && g.Durable() && !g.ForMutex()
				},
				"waits for the end of the bubble": upstream.Goroutine.Drives,
			} {
				if !ofBubble(is) {
					t.Errorf("no goroutine of the bubble %s:\n%s", what, upstream.Dump())
				}
			}
			row.holder.Unlock()
			<-ended
		})
	}
}

//go:noinline
func waitFor(what func()) { what() }

// TestHandshakes: Handshake knows all commands that the Redis clients send by themselves.
func TestHandshakes(t *testing.T) {
	ctx := t.Context()
	for name, talk := range map[string]func(addr string, dial dialer) error{
		"go-redis": func(addr string, dial dialer) error {
			c := redis.NewClient(&redis.Options{Addr: addr, Dialer: dial})
			defer c.Close()
			return c.Set(ctx, "k", "v", 0).Err()
		},
		"go-redis of a cluster": func(addr string, dial dialer) error {
			c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Dialer: dial})
			defer c.Close()
			return c.Set(ctx, "k", "v", 0).Err()
		},
		"a subscription of go-redis": func(addr string, dial dialer) error {
			c := redis.NewClient(&redis.Options{Addr: addr, Dialer: dial})
			defer c.Close()
			s := c.Subscribe(ctx, "ch")
			defer s.Close()
			_, err := s.Receive(ctx)
			return errors.Join(err, s.Ping(ctx))
		},
		"rueidis": func(addr string, dial dialer) error {
			c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true,
				DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
					return dial(ctx, "tcp", addr)
				}})
			if err != nil {
				return err
			}
			defer c.Close()
			return c.Do(ctx, c.B().Set().Key("k").Value("v").Build()).Error()
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := miniredis.RunT(t)
			var sent commands
			if err := talk(server.Addr(), sent.dial); err != nil {
				t.Fatal(err)
			}
			told := 0
			for _, command := range sent.all() {
				if command == "SET" || command == "SUBSCRIBE" {
					told++
				} else if !upstream.Handshake(command) {
					t.Errorf("%s sends %s by itself, which Handshake does not know", name, command)
				}
			}
			if told == 0 {
				t.Errorf("%q: the command of the client is missing", sent.all())
			}
		})
	}
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// commands are the names of the commands sent over connections.
type commands struct {
	mu    sync.Mutex
	names []string
}

func (c *commands) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	return &resp.Tap{Conn: conn, Out: resp.EachRequest(c.add)}, err
}

func (c *commands) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.names)
}

func (c *commands) add(r resp.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names = append(c.names, r.Name())
}

// poolEnv makes the test binary use one connection in two bubbles.
const poolEnv = "LOCKBENCH_TEST_POOL"

// TestWaitersOfAPoolShareTimers: the next waiter for a connection reuses the timer of an earlier
// one, which crashes the process if that was in another bubble. If this fails, go-redis no longer
// pools timers, and NobodyWaits is not needed.
func TestWaitersOfAPoolShareTimers(t *testing.T) {
	if commands := len(os.Getenv(poolEnv)); commands > 0 {
		for range 2 {
			synctest.Test(t, func(*testing.T) { useOneConnection(commands) })
		}
		return
	}
	// number of commands; a single one never waits
	for commands, ends := range map[string]bool{"1": false, "11": true} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWaitersOfAPoolShareTimers$")
		cmd.Env = append(os.Environ(), poolEnv+"="+commands, "GOMAXPROCS=1")
		out, err := cmd.CombinedOutput()
		if ended := err != nil && strings.Contains(string(out), "fatal error") && strings.Contains(string(out), "synctest"); ended != ends {
			t.Errorf("%d commands at once in each of two bubbles end with %v:\n%s", len(commands), err, out)
		}
	}
}

// useOneConnection sends commands concurrently over the only connection of a client.
func useOneConnection(commands int) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", PoolSize: 1, Protocol: 2, DisableIdentity: true, MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			b := make([]byte, 1<<10)
			for {
				if _, err := there.Read(b); err != nil {
					return
				}
				time.Sleep(time.Second)
				if _, err := there.Write([]byte("+PONG\r\n")); err != nil {
					return
				}
			}
		}()
		return here, nil
	}})
	defer c.Close()
	var both sync.WaitGroup
	for range commands {
		both.Go(func() { _ = c.Ping(context.Background()).Err() })
	}
	both.Wait()
}

// TestWatchTimers: the heap profile has exactly the live timers.
func TestWatchTimers(t *testing.T) {
	ofTest := func(frames []string) bool {
		return slices.ContainsFunc(frames, func(f string) bool { return strings.HasSuffix(f, "upstream_test.arrange") })
	}
	for name, make := range map[string]func() (stop func()){
		"time.AfterFunc": func() func() { return stopper(time.AfterFunc(time.Hour, func() {})) },
		"time.NewTimer":  func() func() { return stopper(time.NewTimer(time.Hour)) },
		"context.AfterFunc": func() func() {
			ctx, cancel := context.WithCancel(context.Background())
			context.AfterFunc(ctx, func() {})
			return cancel
		},
	} {
		t.Run(name, func(t *testing.T) {
			pending, restore := upstream.WatchTimers()
			defer restore()
			if pending(ofTest) {
				t.Error("a timer is pending before it was created")
			}
			stop := arrange(make)
			if !pending(ofTest) {
				t.Errorf("a timer created with %s is not in the heap profile", name)
			}
			stop()
		})
	}
}

func stopper(timer *time.Timer) func() { return func() { timer.Stop() } }

//go:noinline
func arrange(make func() func()) func() { return make() }
