package search

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/checker"
	"github.com/lockbench/lockbench/faults"
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/sim"
	"github.com/lockbench/lockbench/verdicts"
	"github.com/lockbench/lockbench/workloads"
)

// judgeOne judges one outcome.
func judgeOne(ctx context.Context, out sim.Outcome, stories bool) ([]broken, error) {
	var x explainer
	defer x.Close()
	all, _, err := x.judge(ctx, out, stories)
	return all, err
}

// TestWhatNoOperationShowsIsFound: a stuck waiter, one that ignores its context, one that sends
// requests endlessly at one instant, or every microsecond, a watchdog that outlives the hold, whether
// or not it reports its renewals, and one that a lost reply ends.
func TestWhatNoOperationShowsIsFound(t *testing.T) {
	cases := []struct{ lock, broken, says string }{
		{"blocks", "progress/unknown", "has called acquire"},
		{"ignores", "progress/unknown", "the context of its acquire ended at"},
		{"asks", "progress/unknown", "sends 500 commands in "},
		{"polls", "progress/unknown", "sends 500 commands in "},
		{"renews", "progress/orphan", "this made a hold last longer: PEXPIRE"},
		{"renews-and-tells", "progress/orphan", "this made a hold last longer: PEXPIRE"},
		{"renews-until-an-error", "renewal/renewal-gap", "and renews no more: it sends nothing until it leaves"},
	}
	for _, c := range cases {
		t.Run(c.lock, func(t *testing.T) {
			v, _ := withBad{}.Find(c.lock)
			s := sim.New(withBad{})
			defer s.Close()
			r, err := Here(t.Context(), Config{Program: sim.DefaultProgram(v), Schedules: 1000, Seek: []string{c.broken},
				Bounds: sim.Bounds{Faults: []string{faults.CrashClient, faults.CancelClient, faults.LoseReply}, MaxFaults: 1, MaxWaits: 1}}, []sim.Runner{s}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.First == nil {
				t.Fatalf("nothing is found in %d schedules", r.Schedules)
			}
			if text := strings.Join(r.First.Steps, "\n"); !strings.Contains(text, c.says) {
				t.Errorf("the story does not say %q:\n%s", c.says, text)
			}
			t.Logf("%s/%s in schedule %d:\n%s", r.First.Property, r.First.Cause, r.First.Schedule, strings.Join(r.First.Steps, "\n"))
		})
	}
}

// TestASearchSaysWhatHadNothingToJudge: a property that a lock promises and that no schedule asked
// for is named, and none of another lock's.
func TestASearchSaysWhatHadNothingToJudge(t *testing.T) {
	v, _ := catalogue.Find("token")
	s := sim.New(catalogue.Known{})
	defer s.Close()
	p := sim.DefaultProgram(v)
	p.Load, p.Also = "hot", nil // nobody extends
	r, err := Here(t.Context(), Config{Program: p, Schedules: 10}, []sim.Runner{s}, nil)
	if err != nil {
		t.Fatal(err)
	}
	never := strings.Join(r.NeverReached, ", ")
	if !strings.Contains(never, "something to judge by renewal") || strings.Contains(never, "by exclusive-use") || strings.Contains(never, "by fencing-order") {
		t.Errorf("never reached: %s; want renewal alone of the properties", never)
	}
}

// TestNotExplorable: a lock that waits for a mutex which another of its goroutines, or a timer, may
// unlock exceeds the simulator's limit, which is reported.
func TestNotExplorable(t *testing.T) {
	for _, row := range []struct{ lock, reason string }{
		{"keeps", "keeps keeps a mutex across a request"},
		{"gate", "gate waits for a mutex that another client of the process may hold"},
		{"shares", "shares waits for a mutex that another client of the process may hold"},
		// time.AfterFunc
		{"queues", "queues waits for a mutex and has arranged something for later, which may unlock it"},
		// a goroutine that waits for time.After
		{"selects", "selects waits for a mutex and has arranged something for later, which may unlock it"},
	} {
		t.Run(row.lock, func(t *testing.T) {
			v, _ := withBad{}.Find(row.lock)
			r, err := Explore(t.Context(), Config{Program: sim.DefaultProgram(v), Schedules: 1000, Workers: 2, Known: withBad{}, Bounds: sim.Bounds{MaxWaits: 2}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if want := "not explorable: " + row.reason; r.Verdict != "inconclusive" || r.Reason != want || r.First != nil {
				t.Errorf("%s, %q, %+v; want inconclusive, %q", r.Verdict, r.Reason, r.First, want)
			}
		})
	}
}

// servant is a lock that misuses its server in a way that no operation shows.
type servant struct {
	env   impls.Env
	way   string
	token string
	stop  context.CancelFunc
	work  sync.WaitGroup
	mu    sync.Mutex // held during requests by the way "keeps"
}

// ofProcess is a mutex that the clients of a process share: the way "shares" holds it during a
// request, "gate" for as long as the lock.
var ofProcess sync.Mutex

// servants lists the ways.
var servants = []string{"keeps", "shares", "gate", "blocks", "ignores", "asks", "polls", "renews", "renews-and-tells", "renews-until-an-error"}

func newServant(way string) func(impls.Env) (impls.Lock, error) {
	return func(env impls.Env) (impls.Lock, error) { return &servant{env: env, way: way}, nil }
}

// Try sets a token if there is none.
func (l *servant) Try(ctx context.Context, _ history.Mode) (impls.Grant, error) {
	if l.way == "shares" {
		ofProcess.Lock()
		defer ofProcess.Unlock()
	}
	token, err := impls.NewToken(l.env.Rand)
	if err != nil {
		return impls.Grant{}, err
	}
	l.token = token
	set := impls.SetMissing
	if l.way == "ignores" { // without a lease, so that a dead holder's key stays
		set = func(ctx context.Context, env impls.Env, token string) (bool, error) {
			return impls.Yes(env.Redis().Do(ctx, "set", env.Key, token, "nx"))
		}
	}
	ok, err := set(ctx, l.env, token)
	if err != nil {
		l.watch() // it may have been granted
		return impls.Grant{}, impls.Classify("set", err)
	}
	if !ok {
		return impls.Grant{}, impls.ErrBusy
	}
	l.watch()
	return impls.Grant{Token: token}, nil
}

// Acquire waits in its way.
func (l *servant) Acquire(ctx context.Context, mode history.Mode) (g impls.Grant, err error) {
	pause, background := l.env.Lease/5, context.WithoutCancel(ctx)
	if l.way == "gate" {
		ofProcess.Lock() // until Release
	}
	switch l.way {
	case "blocks": // until a token is returned, ignoring ctx
		if n, err := l.env.Redis().Incr(background, l.env.Key+":made").Result(); n == 1 && err == nil {
			l.env.Redis().RPush(background, l.env.Key, "1")
		}
		return g, impls.Classify("blpop", l.env.Redis().BLPop(background, 0, l.env.Key).Err())
	case "ignores": // for twenty leases
		ctx = background
	case "asks": // again at once
		pause = 0
	case "polls":
		pause = time.Microsecond
	}
	for n := 0; n < 100 || pause < time.Millisecond; n++ {
		if g, err = l.Try(ctx, mode); !errors.Is(err, impls.ErrBusy) {
			return g, err
		}
		if err := l.env.Clock.Sleep(ctx, pause); err != nil {
			return g, impls.Classify("wait", err)
		}
	}
	return g, impls.ErrBusy
}

// watch renews whatever the key has until the lock is closed.
func (l *servant) watch() {
	if !strings.HasPrefix(l.way, "renews") && l.way != "keeps" || l.stop != nil {
		return
	}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(context.Background())
	l.work.Go(func() {
		for l.env.Clock.Sleep(ctx, l.env.Lease/20) == nil {
			l.mu.Lock()
			r := impls.Renewal{Token: l.token, Call: l.env.Clock.Now()}
			if l.way == "keeps" {
				l.env.Redis().Get(ctx, l.env.Key)
			} else {
				r.Err = impls.Classify("renew", l.env.Redis().PExpire(ctx, l.env.Key, l.env.Lease).Err())
			}
			if r.Return = l.env.Clock.Now(); l.way == "renews-and-tells" && l.env.OnRenew != nil {
				r.ValidUntil = r.Return.Add(l.env.Lease)
				l.env.OnRenew(r)
			}
			l.mu.Unlock()
			if l.way == "renews-until-an-error" && r.Err != nil {
				return
			}
		}
	})
}

// Extend is not supported.
func (l *servant) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, impls.ErrUnsupported
}

// Release returns the token to the server.
func (l *servant) Release(ctx context.Context) error {
	if l.way == "blocks" {
		return impls.Classify("rpush", l.env.Redis().RPush(ctx, l.env.Key, "1").Err())
	}
	switch l.way {
	case "gate":
		defer ofProcess.Unlock()
	case "keeps":
		l.mu.Lock()
		defer l.mu.Unlock()
	}
	const release = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
	return impls.Classify("eval", l.env.Redis().Eval(ctx, release, []string{l.env.Key}, l.token).Err())
}

// Close ends the watchdog.
func (l *servant) Close() error {
	if l.stop != nil {
		l.stop()
	}
	l.work.Wait()
	return nil
}

// TestAStoppedClientCannotBeTold: a lock that tells of a loss is not to blame for the time in which
// its client was paused, and for no other.
func TestAStoppedClientCannotBeTold(t *testing.T) {
	const ms = int64(time.Millisecond)
	both := checker.Violation{Property: verdicts.MutualExclusion, Cause: verdicts.Overbelief, At: 1000 * ms, Lasted: 500 * ms, Clients: []string{"c2", "c1"}}
	for _, row := range []struct {
		name   string
		window history.Window
		want   bool
	}{
		{"it was paused all the while, and told at once", history.Window{Fault: faults.PauseClient, Client: "c2", Start: 10 * ms, End: 1500*ms - 1}, true},
		{"it ran again before the other came", history.Window{Fault: faults.PauseClient, Client: "c2", Start: 10 * ms, End: 900 * ms}, false},
		{"it ran again, and was told late", history.Window{Fault: faults.PauseClient, Client: "c2", Start: 10 * ms, End: 1200 * ms}, false},
		{"it was paused after the other had come", history.Window{Fault: faults.PauseClient, Client: "c2", Start: 1100 * ms, End: 1500 * ms}, false},
		{"somebody else was paused", history.Window{Fault: faults.PauseClient, Client: "c3", Start: 10 * ms, End: 1500 * ms}, false},
		{"it met another fault", history.Window{Fault: faults.DelayReply, Client: "c2", Start: 10 * ms, End: 1500 * ms}, false},
	} {
		kind, _ := faults.FindKind(row.window.Fault)
		row.window.Does = kind.Does
		if got := stopped([]history.Window{row.window}, both); got != row.want {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	for lasted, want := range map[int64]bool{ms: true, ms + 1: false} { // nobody was paused
		both.Lasted = lasted
		if got := stopped(nil, both); got != want {
			t.Errorf("told %d ns late: %v, want %v", lasted, got, want)
		}
	}
}

// TestWhoRenewsWithoutAHold: of the commands that were recorded outside the simulator, those count
// that let a key last longer for a client without a hold. One that comes with a release under way,
// or shortens what is there, does not.
func TestWhoRenewsWithoutAHold(t *testing.T) {
	const ms, lease = int64(time.Millisecond), 100 * time.Millisecond
	op := func(client string, what history.Op, call int64) history.Operation {
		return history.Operation{Client: client, Op: what, Key: "job", Call: call * ms, Return: (call + 2) * ms, Outcome: history.OK}
	}
	request := func(client string, conn uint64, at int64, reply, name string, args ...string) history.Command {
		return history.Command{Client: client, Conn: conn, Sent: at*ms + ms/2, Replied: (at + 1) * ms, Name: name, Args: args, Reply: reply}
	}
	for _, row := range []struct {
		name  string
		renew history.Command
		found bool
	}{
		{"another's hold", request("c1", 2, 80, "1", "PEXPIRE", "job", "100"), true},
		{"its own", request("c1", 2, 20, "1", "PEXPIRE", "job", "100"), false},
		{"its own, while it releases", request("c1", 2, 41, "1", "PEXPIRE", "job", "100"), false},
		{"shortened", request("c1", 2, 80, "1", "PEXPIRE", "job", "10"), false},
		{"nothing", request("c1", 2, 50, "0", "PEXPIRE", "job", "100"), false},
	} {
		rec := history.Recorded{Header: history.Header{Kind: history.Mutex, Lease: int64(lease), Permits: 1},
			Ops: []history.Operation{op("c1", history.Acquire, 0), op("c1", history.Release, 40), op("c2", history.Acquire, 60)},
			Commands: []history.Command{
				request("c1", 1, 0, "OK", "SET", "job", "t1", "NX", "PX", "100"), request("c1", 1, 40, "1", "DEL", "job"),
				request("c2", 3, 60, "OK", "SET", "job", "t2", "NX", "PX", "100"), row.renew},
		}
		for i := range rec.Ops {
			rec.Ops[i].ID = uint64(i + 1)
		}
		tape := sim.Tape{Program: sim.Program{Config: workloads.Config{Lease: lease}}, Property: verdicts.Progress}
		story, err := Unshown(tape, impls.Variant{Kind: history.Mutex}, rec, nil)
		if found := len(story) > 0; err != nil || found != row.found {
			t.Errorf("%s: %q %v, want found: %v", row.name, story, err, row.found)
		}
	}
}

// TestRenews: a lock renews that sends, inside a section and in the background, what no release
// sends. The end of a release that comes in the next section, as of a lock on three masters that
// waits for two of them, is no renewal.
func TestRenews(t *testing.T) {
	ops := []history.Operation{{ID: 1, Client: "c1", Op: history.Release, Call: 10, Return: 11}, {ID: 2, Client: "c1", Op: history.Use, Call: 20, Return: 40}}
	release := history.Command{Client: "c1", Op: 1, Name: "EVALSHA", Script: "release", Sent: 10}
	for _, tt := range []struct {
		name string
		c    history.Command
		want bool
	}{
		{"the end of a release", history.Command{Client: "c1", Name: "EVALSHA", Script: "release", Sent: 30}, false},
		{"a renewal", history.Command{Client: "c1", Name: "EVALSHA", Script: "renew", Sent: 30}, true},
		{"between two sections", history.Command{Client: "c1", Name: "EVALSHA", Script: "renew", Sent: 15}, false},
		{"a look", history.Command{Client: "c1", Name: "GET", Sent: 30}, false},
		{"in an operation", history.Command{Client: "c1", Op: 3, Name: "EVALSHA", Script: "renew", Sent: 30}, false},
		{"another client is inside", history.Command{Client: "c2", Name: "EVALSHA", Script: "renew", Sent: 30}, false},
	} {
		if got := renews(sim.Outcome{Recorded: history.Recorded{Ops: ops, Commands: []history.Command{release, tt.c}}}); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if !renews(sim.Outcome{Recorded: history.Recorded{Header: history.Header{Renews: true}}}) {
		t.Error("a lock that says so does not renew")
	}
}
