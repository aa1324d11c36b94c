package subject

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/subprocess"
)

// Serve turns a Go lock into a child on standard input and output, until its input ends. This is a
// complete child:
//
//	func main() {
//		if err := subject.Serve(newLock); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// It returns nil at the end of the input, and otherwise the error of reading it.
func Serve(f Factory) error { return serveOn(os.Stdin, os.Stdout, f, nil) }

// ServeAs is Serve for a lock that is described without being made.
func ServeAs(about Description, f Factory) error {
	return serveOn(os.Stdin, os.Stdout, f, func() Description { return about })
}

func serveOn(in io.Reader, out io.Writer, f Factory, about func() Description) error {
	ctx, cancel := context.WithCancel(context.Background())
	s := &server{factory: f, about: about, out: subprocess.NewWriter(out),
		locks: map[string]*served{}, asking: map[int64]context.CancelFunc{}}
	if about == nil {
		s.about = sync.OnceValue(s.describe)
	}
	err := s.read(ctx, in)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	cancel()
	s.work.Wait()
	errs := []error{err}
	for _, l := range s.locks {
		l.unwatch()
		errs = append(errs, l.Close())
	}
	for _, n := range s.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

// server answers the requests of one client.
type server struct {
	factory Factory
	about   func() Description
	work    sync.WaitGroup // pending requests and watchers of losses
	out     *subprocess.Writer
	skew    atomic.Int64 // of the clock by which the lock counts, in nanoseconds

	mu     sync.Mutex // protects what follows
	locks  map[string]*served
	asking map[int64]context.CancelFunc // the requests under way, by ID
	nodes  []redis.UniversalClient      // nil before the first new
}

type served struct {
	impls.Lock
	release chan struct{}   // closed when the current hold was released; nil without a watcher
	watched <-chan struct{} // the hold's loss
}

func (s *server) read(ctx context.Context, in io.Reader) error {
	lines := json.NewDecoder(bufio.NewReader(in))
	for {
		var q Request
		if err := lines.Decode(&q); err != nil {
			return err
		}
		if q.Op == opCancel {
			s.mu.Lock()
			if end, open := s.asking[q.Of]; open {
				end()
			}
			s.mu.Unlock()
			continue
		}
		asking, end := context.WithCancel(ctx)
		if q.Wait > 0 {
			asking, end = context.WithTimeout(ctx, duration(q.Wait))
		}
		s.mu.Lock()
		s.asking[q.ID] = end
		s.mu.Unlock()
		s.work.Go(func() {
			r := s.do(asking, q)
			r.ID = q.ID
			_ = s.out.Send(r) // if the pipe is gone nobody reads the reply; the end of the input ends the child
			end()
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.asking, q.ID)
		})
	}
}

func (s *server) do(ctx context.Context, q Request) Reply {
	switch q.Op {
	case opDescribe:
		return Reply{OK: true, Description: s.about()}
	case opNew:
		return s.open(q)
	}
	s.mu.Lock()
	l := s.locks[q.Key]
	s.mu.Unlock()
	if l == nil {
		return Reply{Error: "unsupported", Text: fmt.Sprintf("%s %q without new", q.Op, q.Key)}
	}
	switch q.Op {
	case opTry, opAcquire:
		return s.acquire(ctx, q, l)
	case opExtend:
		g, err := l.Extend(ctx)
		return s.replyTo(g, err)
	case opRelease:
		l.unwatch()
		return s.replyTo(impls.Grant{}, l.Release(ctx))
	case opClose:
		l.unwatch()
		return s.replyTo(impls.Grant{}, l.Close())
	}
	return Reply{Error: "unsupported", Text: fmt.Sprintf("no request %q", q.Op)}
}

func (s *server) acquire(ctx context.Context, q Request, l *served) Reply {
	mode, call := history.Exclusive, l.Acquire
	if q.Mode == "shared" {
		mode = history.Shared
	}
	if q.Op == opTry {
		call = l.Try
	}
	g, err := call(ctx, mode)
	if err != nil || g.Lost == nil || l.watched == g.Lost { // a re-entry: the outer hold is watched already
		return s.replyTo(g, err)
	}
	l.unwatch()
	released := make(chan struct{})
	l.release, l.watched = released, g.Lost
	s.work.Go(func() { // reports the loss of the hold, until it is released
		select {
		case <-g.Lost:
			_ = s.out.Send(Reply{Lost: q.Key, Token: g.Token})
		case <-released:
		}
	})
	return s.replyTo(g, nil)
}

func (l *served) unwatch() {
	if l.release != nil {
		close(l.release)
		l.release, l.watched = nil, nil
	}
}

func (s *server) replyTo(g impls.Grant, err error) Reply {
	if err != nil {
		return Reply{Error: word(err), Text: err.Error()}
	}
	now, skew := time.Now(), time.Duration(s.skew.Load())
	r := Reply{OK: true, Token: g.Token, Fence: g.Fence, At: now.UnixNano()}
	switch {
	case g.ValidUntil.Equal(impls.UntilLost):
		r.UntilLost = true
	case !g.ValidUntil.IsZero():
		r.Valid = new(millis(g.ValidUntil.Sub(now) - skew))
	}
	if !g.Asked.IsZero() {
		r.Asked = new(millis(now.Sub(g.Asked) + skew))
	}
	return r
}

// open makes a handle, replacing an older one.
func (s *server) open(q Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		options := redis.UniversalOptions{Addrs: q.Servers, MasterName: q.Sentinel, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true}
		switch {
		case q.Sentinel != "": // connected to the primary that they name
			s.nodes = []redis.UniversalClient{redis.NewFailoverClient(options.Failover())}
		case q.Cluster:
			s.nodes = []redis.UniversalClient{redis.NewClusterClient(options.Cluster())}
		default:
			for _, addr := range q.Servers {
				s.nodes = append(s.nodes, connect(addr))
			}
		}
	}
	s.skew.Store(int64(duration(q.Skew)))
	cfg := Config{Nodes: s.nodes, Addrs: q.Servers, Master: q.Sentinel, Cluster: q.Cluster, Dial: new(net.Dialer).DialContext, Key: q.Key, TTL: duration(q.Lease),
		Poll: duration(q.Poll), Owner: q.Owner, Permits: max(q.Permits, 1), Skew: duration(q.Skew),
		Renewed: func(r impls.Renewal) { s.renewed(q.Key, r) }}
	if len(s.nodes) > 0 {
		cfg.Redis = s.nodes[0]
	}
	made, err := s.factory(cfg)
	var lock impls.Lock
	if err == nil {
		lock, err = Adapt(made, cfg)
	}
	if err != nil {
		if impls.ConnectionFailed(err) { // nothing was asked of the lock yet
			err = fmt.Errorf("%w: %w", impls.ErrUnavailable, err)
		}
		return Reply{Error: word(err), Text: err.Error()}
	}
	if old := s.locks[q.Key]; old != nil {
		old.unwatch()
		_ = old.Close() // no longer used
	}
	s.locks[q.Key] = &served{Lock: lock}
	return Reply{OK: true}
}

// renewed tells of an extend that the lock did by itself.
func (s *server) renewed(key string, r impls.Renewal) {
	told := s.replyTo(impls.Grant{Token: r.Token, ValidUntil: r.ValidUntil, Asked: r.Call}, nil)
	if told.Renewed, told.OK = key, false; r.Err != nil {
		told.Error, told.Text = word(r.Err), r.Err.Error()
	}
	_ = s.out.Send(told) // if the pipe is gone nobody reads it
}

// connect opens a connection without retries: a retried acquire would be refused because of its own
// first attempt.
func connect(addr string) redis.UniversalClient {
	return redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}})
}

// nowhere is an unreachable address, for a lock that is only inspected.
const nowhere = "127.0.0.1:1"

// describe returns what the methods of an unconnected lock show; if it cannot be made, only that
// acquires can be cancelled.
func (s *server) describe() Description {
	about := Description{Can: []string{CanCancel, CanSentinel, CanCluster}}
	node := connect(nowhere)
	defer node.Close()
	cfg := Config{Redis: node, Nodes: []redis.UniversalClient{node}, Addrs: []string{nowhere}, Key: "describe", TTL: time.Second, Poll: time.Millisecond, Owner: "describe"}
	lock, err := s.factory(cfg)
	if err != nil {
		return about
	}
	if c, ok := lock.(io.Closer); ok {
		defer c.Close()
	}
	t := TraitsOf(lock)
	for word, trait := range canWords() {
		if *trait(&t) {
			about.Can = append(about.Can, word)
		}
	}
	if t.Shared {
		about.Kind = string(history.RW)
	}
	if l, ok := lock.(Describer); ok {
		more := l.Describe()
		about.Name, about.Kind, about.Can = more.Name, more.Kind, append(about.Can, more.Can...)
	}
	return about
}

// Describer is a lock that describes itself beyond what its methods show.
type Describer interface{ Describe() Description }
