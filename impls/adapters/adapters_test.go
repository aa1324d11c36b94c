package adapters

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lease is short enough for real time and long beside one round trip; redsync gives a node a
// twentieth of it.
const lease = 400 * time.Millisecond

// join opens a handle for a new client, on the variant's own key.
func join(t *testing.T, s *redistest.Server, v impls.Variant, owner string) redistest.Party {
	t.Helper()
	c := s.Client(t)
	env := c.Env(t, owner, lease)
	env.Key += ":" + v.Name
	return c.Open(t, v, env)
}

func isRueidis(v impls.Variant) bool { return strings.HasPrefix(v.Name, "rueidislock") }

// rueidislocks runs a test for every variant of rueidislock, on both servers.
func rueidislocks(t *testing.T, test func(t *testing.T, s *redistest.Server, v impls.Variant)) {
	t.Helper()
	redistest.Both(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			if isRueidis(v) {
				test(t, s, v)
			}
		}
	})
}

// Of three nodes one releases, one does not have the key, and one loads its data: the release had
// an effect, and is not certain.
func TestRedsyncReleasedByOneNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var nodes []redis.UniversalClient
		var servers []*redistest.Server
		var first *redistest.Client
		for range 3 {
			s := redistest.NewVirtual(t)
			c := s.Client(t)
			first, servers, nodes = cmp.Or(first, c), append(servers, s), append(nodes, c.Redis)
		}
		env := first.Env(t, "a", lease)
		env.Nodes = nodes
		a := redistest.Open(t, impls.Variant{Name: "redsync", New: openRedsync}, env)
		_, err := a.Try(t.Context(), history.Exclusive)
		redistest.WantErr(t, "acquire", err, nil)
		servers[1].Live.Do("FLUSHALL")
		servers[2].Live.Fail("LOADING Redis is loading the dataset in memory")
		redistest.WantErr(t, "release", a.Release(t.Context()), impls.ErrUnknownOutcome)
		if servers[0].Live.Do("EXISTS", env.Key) == "1" {
			t.Error("the first node still has the key")
		}
	})
}

func TestRueidislockRenewsAndOutlivesTheCallersContext(t *testing.T) {
	rueidislocks(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a, b := join(t, s, v, "a"), join(t, s, v, "b")
		ctx, cancel := context.WithTimeout(t.Context(), lease)
		g, err := a.Acquire(ctx, history.Exclusive)
		cancel()
		redistest.WantErr(t, v.Name+": acquire", err, nil)
		time.Sleep(2 * lease)
		_, err = b.Ask(t)
		redistest.WantErr(t, v.Name+": another's try after two leases", err, impls.ErrBusy)
		redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
		select {
		case <-g.Lost:
			t.Errorf("%s: a lock that was released was reported lost", v.Name)
		default:
		}
	})
}

func TestRueidislockReportsTheLoss(t *testing.T) {
	rueidislocks(t, func(t *testing.T, s *redistest.Server, v impls.Variant) {
		a := join(t, s, v, "a")
		g := a.Hold(t)
		for _, k := range []string{"0", "1", "2"} {
			a.Redis.Del(t.Context(), a.In.Key+":"+k+":"+rueidisName)
		}
		select {
		case <-g.Lost:
		case <-time.After(2 * lease):
			t.Errorf("%s: the loss was not reported within two leases", v.Name)
		}
		redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), impls.ErrLost)
	})
}

// TestScriptNames: the named digests are exactly those of the scripts that the libraries send.
func TestScriptNames(t *testing.T) {
	redistest.Real(t, func(t *testing.T, s *redistest.Server) {
		for _, v := range Variants() {
			a := join(t, s, v, "a")
			a.Hold(t)
			if isRueidis(v) {
				time.Sleep(lease * 3 / 4) // renews
			} else if _, err := a.Extend(t.Context()); err != nil {
				t.Errorf("%s: extend: %v", v.Name, err)
			}
			redistest.WantErr(t, v.Name+": release", a.Release(t.Context()), nil)
		}
		c := s.Client(t).Redis
		for digest, name := range ScriptNames() {
			if known, err := c.ScriptExists(t.Context(), digest).Result(); err != nil || !known[0] {
				t.Errorf("%s: no client sent %s (%v)", name, digest, err)
			}
		}
		info := c.Info(t.Context(), "memory").Val()
		if want := fmt.Sprintf("number_of_cached_scripts:%d\r", len(ScriptNames())); !strings.Contains(info, want) {
			t.Errorf("a client sent a script without a name: want %s in\n%s", want, info)
		}
	})
}
