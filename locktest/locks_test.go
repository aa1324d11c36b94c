package locktest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// lua is the release and the extend of the locks below.
const (
	luaRelease = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	luaExtend  = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`
)

var errGone = errors.New("the hold is gone")

// lock is a correct lock of tests, and each field is a way in which it differs or is broken.
type lock struct {
	Config
	name func(string) string // of the key on the server

	token string
	round int

	// Ways that are lawful.
	ownerToken bool
	transact   bool // WATCH and MULTI in place of a script
	pad        time.Duration
	seconds    bool // rounds up to whole seconds
	renew      bool
	bindCtx    bool // the watchdog ends with the context of the acquire

	// Bugs.
	truncate      bool // to whole seconds, down
	swallow       bool // answers nil to a release that failed
	digestOnly    bool // sends EVALSHA and nothing else
	abandon       bool // a cancelled acquire leaves its key behind
	armLate       bool // the watchdog starts in a goroutine after the acquire has returned
	blindRenew    bool // without looking at the token
	keepsRenewing bool // after a loss
	resurrects    bool // renews by SET
	slowTick      bool // renews after a pause that begins with the reply
	stubborn      bool // a release of a lost hold asks for ever
	panics        string
	spins         bool
	deaf          bool // does not hear the end of a context
	busyOnError   bool
	keepsToken    bool // after a release, and takes it for a hold
	leaks         bool // a goroutine per hold
	chatty        int  // requests more

	mu   sync.Mutex
	stop context.CancelFunc
	wg   sync.WaitGroup
}

func newTestLock(change func(*lock)) Factory {
	return func(c Config) (any, error) {
		l := &lock{Config: c, name: func(s string) string { return s }}
		change(l)
		return l, nil
	}
}

func (l *lock) key() string { return l.name(l.Key) }

func (l *lock) ttl() time.Duration {
	d := l.TTL + l.pad
	switch {
	case l.seconds:
		d = (d + time.Second - 1) / time.Second * time.Second
	case l.truncate:
		d = d / time.Second * time.Second
	}
	return d
}

// panic is where a bug of that name is.
func (l *lock) panic(where string) {
	if l.panics == where {
		panic("the lock is broken in " + where)
	}
}

func (l *lock) TryLock(ctx context.Context) (bool, error) {
	l.panic("TryLock")
	if l.round++; l.round == 1 && l.digestOnly {
		l.Redis.ScriptLoad(ctx, luaRelease)
	}
	token := fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
	if l.ownerToken {
		token = l.Owner
	}
	for range l.chatty {
		l.Redis.Exists(ctx, l.key())
	}
	if l.keepsToken && l.token != "" {
		return true, nil
	}
	ok, err := l.Redis.SetNX(ctx, l.key(), token, l.ttl()).Result()
	if err != nil && l.busyOnError {
		return false, nil
	}
	if ok && ctx.Err() != nil {
		if !l.abandon {
			_ = l.cas(context.WithoutCancel(ctx), luaRelease, token)
		}
		return false, ctx.Err()
	}
	if !ok || err != nil {
		return false, err
	}
	l.mu.Lock()
	l.token = token
	l.mu.Unlock()
	if l.leaks {
		go func() { select {} }()
	}
	if l.renew {
		l.arm(ctx)
	}
	return true, nil
}

func (l *lock) arm(ctx context.Context) {
	start := func() {
		if !l.bindCtx {
			ctx = context.WithoutCancel(ctx)
		}
		ctx, stop := context.WithCancel(ctx)
		l.mu.Lock()
		l.stop = stop
		token := l.token
		l.mu.Unlock()
		l.wg.Go(func() { l.watch(ctx, token) })
	}
	if l.armLate {
		go func() { time.Sleep(time.Microsecond); start() }()
		return
	}
	start()
}

func (l *lock) watch(ctx context.Context, token string) {
	tick := time.NewTicker(l.TTL / 3)
	defer tick.Stop()
	for {
		pause := tick.C
		if l.slowTick {
			pause = time.After(l.TTL * 9 / 10)
		}
		select {
		case <-ctx.Done():
			return
		case <-pause:
		}
		l.panic("watchdog")
		var err error
		switch {
		case l.resurrects:
			err = l.Redis.Set(ctx, l.key(), token, l.ttl()).Err()
		case l.blindRenew:
			err = l.Redis.PExpire(ctx, l.key(), l.ttl()).Err()
		default:
			err = l.cas(ctx, luaExtend, token, l.ttl().Milliseconds())
		}
		if errors.Is(err, errGone) && !l.keepsRenewing {
			return
		}
	}
}

// cas runs a script that compares the token.
func (l *lock) cas(ctx context.Context, script, token string, args ...any) error {
	all := append([]any{token}, args...)
	var n int
	var err error
	switch {
	case l.transact:
		return l.watched(ctx, token)
	case l.digestOnly:
		sum := sha1.Sum([]byte(script))
		n, err = l.Redis.EvalSha(ctx, hex.EncodeToString(sum[:]), []string{l.key()}, all...).Int()
	default:
		n, err = redis.NewScript(script).Run(ctx, l.Redis, []string{l.key()}, all...).Int()
	}
	if err == nil && n == 0 {
		return errGone
	}
	return err
}

// watched is the release without a script.
func (l *lock) watched(ctx context.Context, token string) error {
	return l.Redis.Watch(ctx, func(tx *redis.Tx) error {
		if got, err := tx.Get(ctx, l.key()).Result(); err != nil || got != token {
			return errGone
		}
		_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Del(ctx, l.key())
			return nil
		})
		return err
	}, l.key())
}

func (l *lock) Unlock(ctx context.Context) error {
	l.panic("Unlock")
	l.mu.Lock()
	stop, token := l.stop, l.token
	l.stop = nil
	l.mu.Unlock()
	if stop != nil {
		stop()
		l.wg.Wait()
	}
	if l.ownerToken {
		token = l.Owner
	}
	if token == "" {
		return errGone
	}
	err := l.cas(ctx, luaRelease, token)
	for l.stubborn && err != nil {
		time.Sleep(l.Poll)
		err = l.cas(context.Background(), luaRelease, token)
	}
	if err == nil && !l.keepsToken {
		l.mu.Lock()
		l.token = ""
		l.mu.Unlock()
	}
	if l.swallow {
		return nil
	}
	return err
}

// Close ends the watchdog.
func (l *lock) Close() error {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	return nil
}

// waitingLock has Lock and Unlock alone.
type waitingLock struct{ l *lock }

func (w waitingLock) Lock(ctx context.Context) error {
	for {
		ok, err := w.l.TryLock(ctx)
		if ok || err != nil {
			return err
		}
		switch {
		case w.l.spins:
			continue
		case w.l.deaf:
			time.Sleep(w.l.Poll)
			ctx = context.WithoutCancel(ctx)
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(w.l.Poll):
		}
	}
}

func (w waitingLock) Unlock(ctx context.Context) error { return w.l.Unlock(ctx) }
func (w waitingLock) Close() error                     { return w.l.Close() }

func newWaiting(change func(*lock)) Factory {
	inner := newTestLock(change)
	return func(c Config) (any, error) {
		l, err := inner(c)
		return waitingLock{l.(*lock)}, err
	}
}

// registry is a library whose holds are found by their tokens.
type registry struct {
	Config
	mu    sync.Mutex
	holds map[string]bool
	last  string
}

func (r *registry) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(r.Owner, time.Now().UnixNano())
	ok, err := r.Redis.SetNX(ctx, r.Key, token, r.TTL).Result()
	if ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.holds[token], r.last = true, token
	}
	return ok, err
}

func (r *registry) Unlock(ctx context.Context) error {
	r.mu.Lock()
	token := r.last
	known := r.holds[token]
	delete(r.holds, token)
	r.mu.Unlock()
	if !known {
		return errGone
	}
	if n, err := redis.NewScript(luaRelease).Run(ctx, r.Redis, []string{r.Key}, token).Int(); err != nil || n == 0 {
		return errors.Join(err, errGone)
	}
	return nil
}

func sha(s string) string {
	sum := sha1.Sum([]byte(s))
	return "lock:" + hex.EncodeToString(sum[:])
}

func crc(s string) string { return fmt.Sprintf("lock:%08x", crc32.ChecksumIEEE([]byte(s))) }

func fnv1a(s string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(s))
	return fmt.Sprintf("lock:%d", h.Sum32())
}

func places(s string) string { return fmt.Sprintf("lock:%d", crc32.ChecksumIEEE([]byte(s))%16384) }

// checked runs the rules in this process and gives their results.
func checked(t *testing.T, newLock Factory, w world, options ...Option) map[string]result {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	var names []string
	for _, r := range cfg.rules() {
		names = append(names, r.name)
	}
	out := map[string]result{}
	cfg.checkRules(t, newLock, job{World: w, Rules: names, Patient: 20}, &teller{out: func(m message) {
		switch {
		case m.Result != nil:
			out[m.Result.Rule] = *m.Result
		case m.Hung != "":
			out[m.Hung] = result{Rule: m.Hung, Problems: []string{"hung:\n" + m.Stack}}
		case m.Fatal != "" || m.Real != "":
			t.Error(m.Fatal + m.Real)
		}
	}})
	return out
}

// TestCorrectLocksPass: what is unusual and lawful raises no alarm, and no rule is left out silently.
func TestCorrectLocksPass(t *testing.T) {
	for _, row := range []struct {
		name    string
		make    Factory
		options []Option
	}{
		{"a key, a token, a script", newTestLock(func(*lock) {}), nil},
		{"a Lock that polls, and no TryLock", newWaiting(func(*lock) {}), nil},
		{"its key is a hash of the name", newTestLock(func(l *lock) { l.name = sha }), nil},
		{"its owner's name is its token", newTestLock(func(l *lock) { l.ownerToken = true }), nil},
		{"holds are found by token", func(c Config) (any, error) { return &registry{Config: c, holds: map[string]bool{}}, nil }, nil},
		{"renews by itself and tells nobody", newTestLock(func(l *lock) { l.renew = true }), nil},
		{"renews until the context of the acquire ends", newTestLock(func(l *lock) { l.renew, l.bindCtx = true, true }), nil},
		{"waits, and renews until the context of the acquire ends", newWaiting(func(l *lock) { l.renew, l.bindCtx = true, true }), nil},
		{"asks for half a second more than it is told", newTestLock(func(l *lock) { l.pad = 500 * time.Millisecond }),
			[]Option{ServerLease(func(d time.Duration) time.Duration { return d + 500*time.Millisecond })}},
		{"counts in whole seconds", newTestLock(func(l *lock) { l.seconds = true }),
			[]Option{ServerLease(func(d time.Duration) time.Duration { return (d + time.Second - 1) / time.Second * time.Second })}},
		{"releases by WATCH and MULTI", newTestLock(func(l *lock) { l.transact = true }), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for name, res := range checked(t, row.make, virtual, row.options...) {
				if len(res.Problems) > 0 {
					t.Errorf("%s: %s\n%s", name, strings.Join(res.Problems, "\n"), strings.Join(res.Log, "\n"))
				}
				if res.Unjudged != "" {
					t.Errorf("%s: not judged: %s", name, res.Unjudged)
				}
			}
		})
	}
}

// TestBugsAreCaught: each bug by a rule, whose message says what happened.
func TestBugsAreCaught(t *testing.T) {
	for _, row := range []struct {
		bug  string
		make Factory
		rule string
		says string
	}{
		{"names are one under CRC-32", newTestLock(func(l *lock) { l.name = crc }), "names-apart", "CRC-32"},
		{"names are one under FNV-1a", newTestLock(func(l *lock) { l.name = fnv1a }), "names-apart", "FNV-1a"},
		{"names share 16,384 places", newTestLock(func(l *lock) { l.name = places }), "names-apart", "held"},
		{"names are cut", newTestLock(func(l *lock) { l.name = func(s string) string { return s[:min(len(s), 64)] } }), "names-apart", "200 bytes"},
		{"1,500 ms become a second", newTestLock(func(l *lock) { l.truncate = true }), "odd-leases", "lease of 1.5s, and the server keeps it for 1s"},
		{"a failed release says nil", newTestLock(func(l *lock) { l.swallow, l.digestOnly = true, true }), "release-frees", "Unlock answered nil while the server had forgotten its scripts"},
		{"a lost request to release says nil", newTestLock(func(l *lock) { l.swallow = true }), "release-frees", "requests were lost"},
		{"a release of a lost hold asks for ever", newTestLock(func(l *lock) { l.stubborn = true }), "loss-returns", "did not return"},
		{"a cancelled acquire leaves its key", newTestLock(func(l *lock) { l.abandon = true }), "cancelled-request", "was cancelled when the server had granted"},
		{"the watchdog is armed after it was stopped", newTestLock(func(l *lock) { l.renew, l.armLate = true, true }), "released-at-once", "a"},
		{"the watchdog renews whatever key is there", newTestLock(func(l *lock) { l.renew, l.blindRenew = true, true }), "renews-own", "next"},
		{"the watchdog goes on after a loss", newTestLock(func(l *lock) { l.renew, l.keepsRenewing = true, true }), "renews-own", "it sent"},
		{"the watchdog makes the lock anew", newTestLock(func(l *lock) { l.renew, l.resurrects = true, true }), "renews-own", ""},
		{"renewals slip with slow replies", newTestLock(func(l *lock) { l.renew, l.slowTick = true, true }), "slow-renewals", "slow replies"},
		{"an acquire takes 20 requests", newTestLock(func(l *lock) { l.chatty = 20 }), "bounded-requests", "took 2"},
		{"a waiter spins", newWaiting(func(l *lock) { l.spins = true }), "bounded-requests", "without time passing"},
		{"a waiter does not hear its context", newWaiting(func(l *lock) { l.deaf = true }), "deadline", "b.Lock"},
		{"a token is kept after the release", newTestLock(func(l *lock) { l.keepsToken = true }), "reuse", "TryLock succeeded while"},
		{"a lost reply is busy", newTestLock(func(l *lock) { l.busyOnError = true }), "lost-grant", "refused"},
		{"a goroutine stays", newTestLock(func(l *lock) { l.leaks = true }), "nothing-running", "locks_test.go"},
		{"Unlock panics", newTestLock(func(l *lock) { l.panics = "Unlock" }), "excludes", "the lock is broken in Unlock"},
	} {
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			res := checked(t, row.make, virtual, Only(row.rule))[row.rule]
			if text := strings.Join(res.Problems, "\n"); len(res.Problems) == 0 || !strings.Contains(text, row.says) {
				t.Errorf("%s: %+v, want a problem that says %q", row.rule, res, row.says)
			} else {
				t.Log(text)
			}
		})
	}
}
