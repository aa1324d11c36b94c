package locktest

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/sim/search"
)

// checked runs the rules in this process, in real time as often as Run does, and returns their
// results.
func checked(t *testing.T, newLock factory, w world, options ...Option) map[string]result {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	s := &supervisor{cfg: cfg, t: t, newLock: newLock, here: true, results: map[string]result{}}
	if w == redisServer {
		s.servers = startServers(t, cfg)
	}
	s.supervise(w)
	for n, res := range s.results {
		for looks := 0; looks < looksAlone && w != virtual && len(res.Problems) > 0; looks++ {
			res = s.again(n)
		}
	}
	for _, n := range s.without(namesOf(cfg.rules())) {
		t.Errorf("%s was not checked: %s%s", n, s.fatal, s.real)
	}
	return s.results
}

// searched looks for a schedule that breaks the lock, in this process.
func searched(t *testing.T, newLock factory, schedules int, options ...Option) search.Result {
	t.Helper()
	cfg := configure(options)
	cfg.known(t)
	v := cfg.subject(t, newLock)
	p, b := cfg.program(t, v)
	s := sim.New(only{v})
	defer s.Close()
	r, err := search.Here(t.Context(), search.Config{Program: p, Bounds: b, Schedules: schedules}, []sim.Runner{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// soak returns LOCKBENCH_SOAK, or the given default.
func soak(otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv("LOCKBENCH_SOAK")); err == nil {
		return n
	}
	return otherwise
}

// control is a correct lock with an unusual but legal behaviour.
type control struct {
	name    string
	make    factory
	options []Option
	lacks   string // a command that the simulator lacks, so that schedules can't be searched
}

func controls() []control {
	nothing := func(*lock) {}
	padded := ServerLease(func(d time.Duration) time.Duration { return d + 500*time.Millisecond })
	seconds := ServerLease(func(d time.Duration) time.Duration { return (d + time.Second - 1) / time.Second * time.Second })
	return []control{
		{name: "a key, a token, a script", make: newTestLock(nothing)},
		{name: "a Lock that polls, and no TryLock", make: newWaiting(nothing)},
		{name: "its key is a hash of the name", make: newTestLock(func(l *lock) { l.name = sha })},
		{name: "its owner's name is its token", make: newTestLock(func(l *lock) { l.ownerToken = true })},
		{name: "holds are found by token", make: func(c Config) (any, error) { return &registry{plain{owned{Config: c}}, map[string]bool{}}, nil }},
		{name: "renews by itself and tells nobody", make: newTestLock(func(l *lock) { l.renew = true })},
		{name: "renews late", make: newTestLock(func(l *lock) { l.renew, l.late = true, true })},
		{name: "renews until the context of the acquire ends", make: newTestLock(func(l *lock) { l.renew, l.bindCtx = true, true })},
		{name: "waits, and renews until the context of the acquire ends", make: newWaiting(func(l *lock) { l.renew, l.bindCtx = true, true })},
		{name: "asks for half a second more than it was given", make: newTestLock(func(l *lock) { l.pad = 500 * time.Millisecond }), options: []Option{padded}},
		{name: "asks for up to a fifth more than it was given", make: newTestLock(func(l *lock) { l.jitter = true }),
			options: []Option{ServerLease(func(d time.Duration) time.Duration { return d + d/5 })}},
		{name: "counts in whole seconds", make: newTestLock(func(l *lock) { l.seconds = true })},
		{name: "counts in whole seconds, and says so", make: newTestLock(func(l *lock) { l.seconds = true }), options: []Option{seconds}},
		{name: "releases by WATCH and MULTI", make: newTestLock(func(l *lock) { l.transact = true })},
		{name: "says until when, and extends", make: newTimed(func(*timedLock) {})},
		{name: "says until when in whole milliseconds", make: newTimed(func(l *timedLock) { l.rounds = true })},
		{name: "has a pool of connections of its own", make: func(c Config) (any, error) { return &wireLock{Config: c}, nil }},
		{name: "has a queue beside its key", make: by(queued(luaClean), inLine), options: []Option{Promises("fifo")}},
		{name: "polls four times in a lease", make: newWaiting(nothing, func(w *waitingLock) { w.every = w.l.TTL / 4 })},
		{name: "polls once in nine tenths of a lease", make: newWaiting(nothing, func(w *waitingLock) { w.every = w.l.TTL * 9 / 10 })},

		{name: "counts its grants in a key of a name of its own", make: by(numbered(``), counted)},
		{name: "is for readers and writers", make: byModes(readersWriters(), modeWaiting)},
		{name: "has readers that may extend", make: byModes(readersWriters(), modeExtending)},
		{name: "is for readers and writers, who may not go on as readers", make: byModes(readersWriters(noDowngrade), modeWaiting)},
		{name: "is for readers and writers, who poll slowly", make: byModes(readersWriters(slowly), modeWaiting)},
		{name: "is for readers and writers, who are woken", make: byModes(readersWriters(sleeping), modeWaiting)},
		{name: "is for readers and writers, who do not wait", make: byModes(readersWriters(), modeTrying)},
		{name: "may be entered again", make: func(c Config) (any, error) { return &nestedLock{Config: c}, nil }, options: []Option{Promises("reentrant")}},
		{name: "may be entered again, and renews", make: func(c Config) (any, error) { return &nestedLock{Config: c, renew: true}, nil }, options: []Option{Promises("reentrant", "renews")}},
		{name: "is on three masters", make: func(c Config) (any, error) { return &quorumLock{Config: c}, nil }, options: []Option{Nodes(3)}},
		{name: "is on three masters, and releases the last one later", make: func(c Config) (any, error) { return &trailingLock{quorumLock: quorumLock{Config: c}}, nil }, options: []Option{Nodes(3)}},
		{name: "keeps its deadline in its value", make: by(stamped(``, ``), nil)},
		{name: "keeps its deadline in its value, and its key for a lease more", make: by(stamped(``, luaSweep), nil)},
		{name: "holds a guard while it looks", make: around(func(l *lock) any { return guardLock{l} })},
		{name: "blocks on a list of wake-ups", make: func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}}, nil }},
		{name: "knows its own token when it asks again", make: newTestLock(func(l *lock) { l.insists = true })},
		{name: "says busy by an error of its own", make: newTestLock(func(l *lock) { l.ownErrors = true })},
		{name: "wakes by a channel", make: func(c Config) (any, error) { return &channelLock{owned: owned{Config: c}}, nil }},
		{name: "is taken over when its deadline has passed", make: func(c Config) (any, error) { return &deadlineLock{Config: c}, nil }},
		{name: "is a member of a sorted set", make: by(scored(), nil)},
		{name: "asks in a transaction, and keeps a record", make: func(c Config) (any, error) { return &recordLock{owned{Config: c}}, nil }},
		{name: "takes back in the background", make: around(func(l *lock) any { return &tidyLock{lock: l} })},
		{name: "takes back an acquire without an answer", make: newTestLock(func(l *lock) { l.undoes = true })},
		{name: "takes back an acquire without an answer, and renews", make: newTestLock(func(l *lock) { l.undoes, l.renew = true, true })},
		{name: "is renewed with the other locks of its client", make: newPooled(false, false)},
		{name: "takes back in the background, later", make: around(func(l *lock) any { return &tidyLock{lock: l, later: true} })},
		{name: "has a list of its client's subscriptions", make: newListening(false)},
		{name: "backs off", make: around(func(l *lock) any { return backOffLock{l} })},
		{name: "sleeps for what is left of the lease", make: around(func(l *lock) any { return leftLock{l} })},
		{name: "takes its fences from the server's clock", make: by(clocked(), counted)},
		{name: "counts its entries itself", make: around(func(l *lock) any { return &selfCountLock{lock: l} }), options: []Option{Promises("reentrant")}},
		{name: "asks by WATCH and MULTI", make: around(func(l *lock) any { return watchLock{l} })},
		{name: "is a list of one", make: by(listed(), nil)},
		{name: "is a stream of one", make: by(streamed(), nil), lacks: "XADD"},
		{name: "has three keys", make: by(threefold(), nil)},
		{name: "is a bit", make: by(bit(), nil), lacks: "SETBIT"},
		{name: "renames a key of its own", make: around(func(l *lock) any { return renameLock{l} })},
		{name: "keeps the count of its grants and its holder in one hash", make: by(hashed(), counted)},
		{name: "gives up by itself after forty tries", make: newWaiting(nothing, func(w *waitingLock) { w.tries = 40 })},
	}
}

// TestCorrectLocksPass: unusual but legal behaviour raises no alarm, and no rule is skipped
// silently.
func TestCorrectLocksPass(t *testing.T) {
	if testing.Short() {
		t.Skip("checks every rule of some fifty locks")
	}
	for _, c := range append(controls(), wildControls()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			passes(t, checked(t, c.make, virtual, c.options...))
		})
	}
}

// TestWildLocksPassOnRedis: those in which a false alarm was raised from outside raise none on
// redis-server.
func TestWildLocksPassOnRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute, most of which it waits")
	}
	for _, c := range wildControls() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			passes(t, checked(t, c.make, redisServer, c.options...))
		})
	}
}

// passes requires every rule to be judged and kept.
func passes(t *testing.T, results map[string]result) {
	t.Helper()
	for name, res := range results {
		if len(res.Problems) > 0 {
			t.Errorf("%s: %s\n%s", name, strings.Join(res.Problems, "\n"), strings.Join(res.Log, "\n"))
		}
		if res.Unjudged != "" {
			t.Errorf("%s: not judged: %s", name, res.Unjudged)
		}
	}
}

// TestCorrectLocksStand: no schedule breaks the same locks. LOCKBENCH_SOAK sets the number of
// schedules for each.
func TestCorrectLocksStand(t *testing.T) {
	if testing.Short() {
		t.Skip("searches the schedules of some fifty locks")
	}
	for _, c := range append(controls(), wildControls()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := searched(t, c.make, soak(60), c.options...)
			switch {
			case c.lacks != "":
				if r.Verdict != "inconclusive" || !strings.Contains(r.Reason, c.lacks) {
					t.Errorf("%s: %s, want an inconclusive search that names %s", r.Verdict, r.Reason, c.lacks)
				}
			case r.First != nil:
				t.Errorf("%s/%s in schedule %d:\n%s", r.First.Property, r.First.Cause, r.First.Schedule, strings.Join(r.First.Steps, "\n"))
			case r.Verdict != "pass":
				t.Errorf("%s: %s", r.Verdict, r.Reason)
			}
		})
	}
}
