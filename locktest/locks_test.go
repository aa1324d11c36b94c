package locktest

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lua is the release and the extend of the locks below.
const (
	luaRelease = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0`
	luaExtend  = `if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0`
)

var errGone = errors.New("the hold is gone")

// lock is a correct lock for tests; each field is a variation or a bug.
type lock struct {
	Config
	name func(string) string // of the key on the server

	token string
	round int

	// Legal variations.
	ownerToken bool
	transact   bool // WATCH and MULTI instead of a script
	pad        time.Duration
	jitter     bool
	seconds    bool // rounds up to whole seconds
	renew      bool
	bindCtx    bool // the watchdog ends with the context of the acquire

	mutexed   bool // keeps a mutex while it waits for replies
	insists   bool // retries after a lost reply, and recognizes its own token
	ownErrors bool // reports busy by its own error
	late      bool // the watchdog renews every nine tenths of half a lease
	undoes    bool // an acquire without an answer takes back its own token

	// Bugs.
	truncate      bool // to whole seconds, down
	swallow       bool // returns nil from a release that failed
	digestOnly    bool // sends only EVALSHA
	abandon       bool // a cancelled acquire leaves its key behind
	armLate       bool // the watchdog starts in a goroutine after the acquire has returned
	blindRenew    bool // without comparing the token
	keepsRenewing bool // after a loss
	resurrects    bool // renews by SET
	slowTick      bool // renews after a pause that begins with the reply
	stubborn      bool // a release of a lost hold retries for ever
	panics        string
	spins         bool
	deaf          bool // ignores the end of a context
	busyOnError   bool
	keepsToken    bool // after a release, and takes it for a hold

	chatty       int  // number of extra requests
	eternal      bool // a request continues after its context has ended, and its grant is renewed
	outlives     bool // only a successful release stops the watchdog
	clockToken   bool // the token is the time in milliseconds
	endedCtx     bool // releases under the context of the acquire
	getThenDel   bool
	expireApart  bool // a second command sets the lease
	wholeLease   bool // the watchdog renews when the lease has ended
	frail        bool // the watchdog ends at the first error
	wholeSeconds bool // sends seconds with a fraction
	twicePanics  bool // a second Unlock
	undoesBlind  bool // an acquire without an answer deletes the key, whoever holds it

	narrowLease  bool // the lease is sent in 32 bits
	forgetful    bool // a refusal replaces the token
	renewsApart  bool // the watchdog compares in one request and extends in another
	readsLease   bool // takes the lock when the key has no time left to live
	steals       bool // takes the lock in the last hundredth of a lease
	patient      bool // TryLock waits for half a lease
	leavesLate   bool // sends no release in the last fifth of a lease
	leaksOnError bool // a goroutine for each acquire that failed
	replyIsBusy  bool // whatever the server answers but OK is a refusal
	replyIsFree  bool // and of a release, success
	deafRequest  bool // an acquire goes on behind its context
	hopeful      bool // a time-out is a grant
	fallsBack    bool // deletes when the server does not know the script
	insistsOnDel bool // deletes when the release failed

	stuck bool // a Close waits for ever

	renewsFor time.Duration

	mu   sync.Mutex
	held sync.Mutex // see mutexed
	stop context.CancelFunc
	ctx  context.Context // of the acquire
	wg   sync.WaitGroup
}

// errTakenByAnother is the busy error of a lock with its own errors.
var errTakenByAnother = errors.New("lock already taken")

// errTooLate: the lease had ended when the reply came.
var errTooLate = errors.New("the grant came after its lease")

func newTestLock(change func(*lock)) factory {
	return around(func(l *lock) any { change(l); return l })
}

// around makes locks of a correct one.
func around(of func(*lock) any) factory {
	return func(c Config) (any, error) { return of(&lock{Config: c, name: itself}), nil }
}

func (l *lock) key() string { return l.name(l.Key) }

func (l *lock) ttl() time.Duration {
	d := l.TTL + l.pad
	if l.jitter {
		d += time.Duration(mrand.Int64N(int64(l.TTL/5) + 1))
	}
	switch {
	case l.narrowLease:
		d = time.Duration(uint32(d.Milliseconds())&(1<<31-1)) * time.Millisecond

	case l.seconds:
		d = (d + time.Second - 1) / time.Second * time.Second
	case l.truncate:
		d = d / time.Second * time.Second
	}
	return d
}

// panic panics if the lock has the bug of that name.
func (l *lock) panic(where string) {
	if l.panics == where {
		panic("the lock is broken in " + where)
	}
}

func (l *lock) newToken() string {
	switch {
	case l.ownerToken:
		return l.Owner
	case l.clockToken:
		return fmt.Sprint(time.Now().UnixMilli())
	}
	return fmt.Sprint(l.Owner, "-", l.round, "-", time.Now().UnixNano())
}

// set sends the request of an acquire.
func (l *lock) set(ctx context.Context, token string) (bool, error) {
	switch {
	case l.wholeSeconds:
		err := l.Redis.Do(ctx, "SET", l.key(), token, "NX", "EX", fmt.Sprint(l.TTL.Seconds())).Err()
		if errors.Is(err, redis.Nil) {
			return false, nil
		}
		return err == nil, err
	case l.expireApart:
		ok, err := l.Redis.SetNX(ctx, l.key(), token, 0).Result()
		if ok {
			err = l.Redis.PExpire(ctx, l.key(), l.ttl()).Err()
		}
		return ok && err == nil, err
	case l.eternal:
		return l.setBehind(ctx, token)
	case l.readsLease:
		if left, err := l.Redis.PTTL(ctx, l.key()).Result(); err != nil || left > 0 {
			return false, err
		}
		err := l.Redis.Set(ctx, l.key(), token, l.ttl()).Err()
		return err == nil, err
	case l.deafRequest:
		ctx = context.WithoutCancel(ctx)
	}
	ok, err := l.Redis.SetNX(ctx, l.key(), token, l.ttl()).Result()
	if err != nil && l.insists {
		var again bool
		if again, err = l.Redis.SetNX(ctx, l.key(), token, l.ttl()).Result(); err == nil && !again {
			var got string
			got, err = l.Redis.Get(ctx, l.key()).Result()
			again = got == token
			if errors.Is(err, redis.Nil) {
				err = nil
			}
		}
		ok = again && err == nil
	}
	return ok, err
}

// setBehind sends the request from a goroutine, which keeps the grant.
func (l *lock) setBehind(ctx context.Context, token string) (bool, error) {
	type answer struct {
		ok  bool
		err error
	}
	came := make(chan answer, 1)
	go func() {
		ok, err := l.Redis.SetNX(context.WithoutCancel(ctx), l.key(), token, l.ttl()).Result()
		if ok && l.renew {
			l.mu.Lock()
			l.token = token
			l.mu.Unlock()
			l.arm(context.WithoutCancel(ctx))
		}
		came <- answer{ok, err}
	}()
	select {
	case a := <-came:
		return a.ok, a.err
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (l *lock) TryLock(ctx context.Context) (bool, error) {
	l.panic("TryLock")
	if l.mutexed {
		l.held.Lock()
		defer l.held.Unlock()
	}
	if l.round++; l.round == 1 && (l.digestOnly || l.fallsBack) {
		l.Redis.ScriptLoad(ctx, luaRelease)
	}
	token := l.newToken()
	for range l.chatty {
		l.Redis.Exists(ctx, l.key())
	}
	if l.keepsToken && l.token != "" {
		return true, nil
	}
	ok, err := l.set(ctx, token)
	ok, err = l.bent(ctx, token, ok, err)
	switch {
	case err != nil && l.undoesBlind:
		l.Redis.Del(context.WithoutCancel(ctx), l.key())
	case err != nil && l.undoes:
		l.undo(ctx, token)
	}
	switch {
	case err != nil && l.busyOnError:
		return false, nil
	case ok && ctx.Err() != nil && !l.hopeful:
		if !l.abandon {
			_ = l.cas(context.WithoutCancel(ctx), luaRelease, token)
		}
		return false, ctx.Err()
	case err == nil && !ok && l.ownErrors:
		return false, errTakenByAnother
	case !ok || err != nil:
		return false, err
	}
	l.mu.Lock()
	l.token, l.ctx = token, ctx
	l.mu.Unlock()

	if l.renew && !l.eternal {
		l.arm(ctx)
	}
	return true, nil
}

// undo takes back what an acquire without an answer may have left.
func (l *lock) undo(ctx context.Context, token string) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
	defer cancel()
	_ = l.cas(short, luaRelease, token) // if it fails, the lease ends
}

// bent is what some of the bugs make of the answer to an acquire.
func (l *lock) bent(ctx context.Context, token string, ok bool, err error) (bool, error) {
	var reply redis.Error
	switch {
	case l.forgetful:
		l.token = token
	case l.leaksOnError && err != nil:
		go func() { select {} }()
	case l.replyIsBusy && errors.As(err, &reply), l.hopeful && os.IsTimeout(err):
		return l.hopeful, nil
	case l.steals && err == nil && !ok:
		if left := l.Redis.PTTL(ctx, l.key()).Val(); left > 0 && left < l.TTL/100 {
			ok = l.Redis.Set(ctx, l.key(), token, l.ttl()).Err() == nil
		}
	case l.patient && err == nil && !ok:
		for end := time.Now().Add(l.TTL / 2); !ok && err == nil && time.Now().Before(end); ok, err = l.set(ctx, token) {
			time.Sleep(l.Poll)
		}
	}
	return ok, err
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
	every := l.TTL / 3
	switch {
	case l.late:
		every = l.TTL * 9 / 20
	case l.wholeLease:
		every = l.TTL
	}
	tick := time.NewTicker(every)
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
		if l.mutexed {
			l.held.Lock()
		}
		var err error
		switch {
		case l.renewsFor > 0:
			err = l.cas(ctx, luaExtend, token, l.renewsFor.Milliseconds())
		case l.resurrects:
			err = l.Redis.Set(ctx, l.key(), token, l.ttl()).Err()

		case l.renewsApart:
			if err = l.owns(ctx, token); err == nil {
				err = l.Redis.PExpire(ctx, l.key(), l.ttl()).Err()
			}
		case l.blindRenew:
			err = l.Redis.PExpire(ctx, l.key(), l.ttl()).Err()
		default:
			err = l.cas(ctx, luaExtend, token, l.ttl().Milliseconds())
		}
		if l.mutexed {
			l.held.Unlock()
		}
		if errors.Is(err, errGone) && !l.keepsRenewing || err != nil && l.frail {
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
	case l.digestOnly, l.fallsBack:
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

// watched is a release without a script.
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

// disarm stops the watchdog.
func (l *lock) disarm() {
	l.mu.Lock()
	stop := l.stop
	l.stop = nil
	l.mu.Unlock()
	if stop != nil {
		stop()
		l.wg.Wait()
	}
}

func (l *lock) Unlock(ctx context.Context) error {
	l.panic("Unlock")
	if !l.outlives {
		l.disarm()
	}
	l.mu.Lock()
	token, of := l.token, l.ctx
	l.mu.Unlock()
	if l.endedCtx && of != nil {
		ctx = of
	}
	if l.ownerToken {
		token = l.Owner
	}
	if token == "" {
		l.panicIf(l.twicePanics)
		return errGone
	}
	err := l.end(ctx, token)
	for l.stubborn && err != nil {
		time.Sleep(l.Poll)
		err = l.cas(context.Background(), luaRelease, token)
	}
	if err == nil && !l.keepsToken {
		l.disarm()
		l.mu.Lock()
		l.token = ""
		l.mu.Unlock()
	}
	if l.swallow {
		return nil
	}
	return err
}

func (l *lock) panicIf(bug bool) {
	if bug {
		panic("unlock of an unlocked lock")
	}
}

func (l *lock) end(ctx context.Context, token string) error {
	if l.leavesLate && l.Redis.PTTL(ctx, l.key()).Val() < l.TTL/5 {
		return nil
	}
	if l.getThenDel {
		if err := l.owns(ctx, token); err != nil {
			return err
		}
		return l.Redis.Del(ctx, l.key()).Err()
	}
	err := l.cas(ctx, luaRelease, token)
	var reply redis.Error
	switch {
	case l.fallsBack && redis.HasErrorPrefix(err, "NOSCRIPT"), l.insistsOnDel && err != nil && !errors.Is(err, errGone):
		return l.Redis.Del(ctx, l.key()).Err()
	case l.replyIsFree && errors.As(err, &reply):
		return nil
	}
	return err
}

// owns reports by a request of its own whether the key has the token.
func (l *lock) owns(ctx context.Context, token string) error {
	got, err := l.Redis.Get(ctx, l.key()).Result()
	if errors.Is(err, redis.Nil) || err == nil && got != token {
		return errGone
	}
	return err
}

// itself is the name of a key that is the lock's name.
func itself(name string) string { return name }

// Close ends the watchdog.
func (l *lock) Close() error {
	l.mu.Lock()
	stop := l.stop
	l.mu.Unlock()
	if stop != nil {
		stop()
	}
	if l.stuck {
		select {}
	}
	return nil
}
