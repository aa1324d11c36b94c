package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

const (
	sentinelCount = 3
	sentinelVotes = 2 // that a primary is down
	// DefaultDownAfter is how long a primary does not answer before a sentinel takes it to be down,
	// if Spec has no other time. Redis' own default is 30 s.
	DefaultDownAfter = time.Second
	roleInterval     = 20 * time.Millisecond // between two looks at a server's role
	sentinelFile     = "sentinel.conf"
)

// Promotion is a replica that became the primary.
type Promotion struct {
	Node int
	At   time.Time // when its new role was seen, some 20 ms after it had it
}

// Sentinels watch the servers of a deployment, and make a replica the primary when the primary is
// down. The servers and the sentinels reach a server by an address of its own, which the sentinels
// tell clients, too.
type Sentinels struct {
	nodes    []*node    // the sentinels
	barriers []*barrier // by node
	fleet    *fleet

	stop  context.CancelFunc
	looks sync.WaitGroup

	mu         sync.Mutex // guards the fields below
	promotions []Promotion
	apart      map[int]int           // the node with which a client is isolated
	balanced   map[net.Conn]balanced // open, or ended by its client
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinels) Addrs() []string {
	out := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		host, port := n.peer()
		out[i] = net.JoinHostPort(host, strconv.Itoa(port))
	}
	return out
}

// Known returns the address by which the sentinels know a node.
func (s *Sentinels) Known(node int) string { return s.barriers[node].addr() }

// Promotions returns the promotions so far.
func (s *Sentinels) Promotions() []Promotion {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.promotions)
}

// Primary returns the node that the sentinels made the primary last.
func (s *Sentinels) Primary() int {
	if all := s.Promotions(); len(all) > 0 {
		return all[len(all)-1].Node
	}
	return 0
}

// Isolate cuts a node off from the other servers and from the sentinels, not from clients, until
// heal is called. The balancer of a client, from 1, is on its side; 0 is none.
func (s *Sentinels) Isolate(node, client int) (heal func()) {
	lift := s.barriers[node].lower()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apart[client] = node
	return func() {
		lift()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.apart, client)
		s.turn()
	}
}

// turn ends the connections through balancers that lead elsewhere now. mu must be held.
func (s *Sentinels) turn() {
	for c, b := range s.balanced {
		if b.node != s.leads(b.client) {
			_ = c.Close()
			delete(s.balanced, c)
		}
	}
}

// balanced is a connection through the balancer of a client.
type balanced struct {
	client, node int
}

// leads returns the node to which the balancer of a client leads. mu must be held.
func (s *Sentinels) leads(client int) int {
	if node, apart := s.apart[client]; apart {
		return node
	}
	if n := len(s.promotions); n > 0 {
		return s.promotions[n-1].Node
	}
	return 0
}

// Balance connects a client, from 1, to the primary as a balancer does that asks the sentinels for
// it, for clients that ask none themselves: it ends the connection when another node is the
// primary. dial connects to a node.
func (s *Sentinels) Balance(ctx context.Context, client int, dial func(ctx context.Context, node int) (net.Conn, error)) (net.Conn, error) {
	s.mu.Lock()
	node := s.leads(client)
	s.mu.Unlock()
	conn, err := dial(ctx, node)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if node != s.leads(client) {
		return nil, errors.Join(errors.New("the primary has changed"), conn.Close())
	}
	s.balanced[conn] = balanced{client, node}
	return conn, nil
}

// sentinelArgs returns the arguments of a sentinel that watches a primary by its address. It writes
// the sentinel's configuration, which the sentinel rewrites, into its directory; a container has
// that elsewhere, inside.
func (s Spec) sentinelArgs(dir, inside string, port int, watched string) ([]string, error) {
	host, primary, _ := strings.Cut(watched, ":")
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
protected-mode no
daemonize no
dir %s
sentinel monitor %s %s %s %d
sentinel down-after-milliseconds %[3]s 30000
sentinel failover-timeout %[3]s 3000
sentinel parallel-syncs %[3]s 1
`, port, inside, impls.MasterName, host, primary, sentinelVotes)
	path := filepath.Join(dir, sentinelFile)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return nil, err
	}
	return []string{filepath.Join(inside, sentinelFile), "--sentinel"}, os.Chmod(path, 0o666)
}

// formSentinels makes all nodes but the first its replicas, starts the sentinels, and waits until
// they know each other and the replicas.
func (f *fleet) formSentinels(ctx context.Context) error {
	for i := 1; i < len(f.nodes); i++ {
		if err := f.follow(ctx, i, 0, int64(i)); err != nil {
			return err
		}
	}
	s := f.sentinels
	for i, n := range s.nodes {
		if err := n.start(ctx); err != nil {
			return fmt.Errorf("start sentinel %d: %w", i+1, err)
		}
		n.state = running
		answers := func() (bool, error) {
			_, err := do(ctx, n.dial, "PING")
			return err == nil, n.alive(ctx)
		}
		if err := n.poll(ctx, "answer", answers); err != nil {
			return err
		}
		hasten(ctx, n, 100*time.Millisecond, 500*time.Millisecond)
	}
	for _, n := range s.nodes {
		err := n.poll(ctx, "know the replicas and the other sentinels", func() (bool, error) {
			reply, err := do(ctx, n.dial, "SENTINEL", "MASTER", impls.MasterName)
			words, _ := reply.([]any)
			fields := map[string]string{}
			for i := 0; i+1 < len(words); i += 2 {
				fields[fmt.Sprint(words[i])] = fmt.Sprint(words[i+1])
			}
			return fields["flags"] == "master" && fields["num-slaves"] == strconv.Itoa(len(f.nodes)-1) &&
				fields["num-other-sentinels"] == strconv.Itoa(sentinelCount-1), err
		})
		if err != nil {
			return err
		}
		hasten(ctx, n, publishPeriod, infoPeriod)
		if _, err := n.do(ctx, "SENTINEL", "SET", impls.MasterName, "down-after-milliseconds", f.spec.DownAfter.Milliseconds()); err != nil {
			return err
		}
	}
	for i := 0; f.spec.Log && i < len(f.nodes); i++ { // they replicate to each other: each has its own log
		log := &nodeLog{copies: true}
		if err := log.goOn("", f.nodes[i].logDir()); err != nil {
			return err
		}
		f.logs = append(f.logs, log)
	}
	// The sentinels change roles by themselves: every server is looked at until close.
	ctx, s.stop = context.WithCancel(context.Background())
	for i, n := range f.nodes {
		s.looks.Go(func() { s.look(ctx, i, n) })
	}
	return nil
}

// Sentinels tell of themselves every 2 s and ask the servers of their role every 10 s, and make an
// old primary that is back a replica after four of the former. Those of a run do so more often, as
// they also find a primary down sooner than by default.
const (
	publishPeriod = 500 * time.Millisecond
	infoPeriod    = time.Second
)

// hasten sets a sentinel's periods. Not every version can be asked to: it then has its own.
func hasten(ctx context.Context, n *node, publish, info time.Duration) {
	_, _ = do(ctx, n.dial, "SENTINEL", "DEBUG", "publish-period", publish.Milliseconds(), "info-period", info.Milliseconds())
}

// look notes the promotions of one server, and begins a part of its log at each.
func (s *Sentinels) look(ctx context.Context, i int, n *node) {
	var asker *redis.Client
	role := "" // "": not known since the server was last down
	tick := time.NewTicker(roleInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if asker != nil {
				_ = asker.Close()
			}
			return
		case <-tick.C:
		}
		if n.addr() == "" {
			role = ""
		}
		if asker == nil {
			var err error
			if asker, err = newAdmin(ctx, n.dial); err != nil {
				asker = nil
				continue
			}
		}
		reply, err := asker.Do(ctx, "ROLE").Slice()
		if err != nil || len(reply) == 0 { // it died, or has a new role, with which it ends its connections
			_ = asker.Close()
			asker = nil
			continue
		}
		now := fmt.Sprint(reply[0])
		if role == "slave" && now == "master" {
			at := time.Now()
			if logs := s.fleet.logs; logs != nil {
				_ = logs[i].goOn(history.Promoted, n.logDir()) // a file that cannot be read is seen by the reader of the log
			}
			s.mu.Lock()
			s.promotions = append(s.promotions, Promotion{i, at})
			s.turn()
			s.mu.Unlock()
		}
		role = now
	}
}
