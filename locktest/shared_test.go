package locktest

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"
)

// modal is a lock for readers and writers by scripts, which return 0 for a refusal.
type modal struct {
	owned
	ends                         []string
	write, unwrite, read, unread string // they get the token and the lease
	reads                        string // the reader's token
	polls                        int    // how often in a lease; 0: as Config.Poll says
	sleeps                       bool   // waits for a publication
	leavesFirst                  bool   // bug: a writer that asks to read leaves the write side first
}

func (l *modal) ask(ctx context.Context, script string, token *string) (bool, error) {
	t := l.next()
	n, err := l.run(ctx, script, l.ends, t, l.TTL.Milliseconds(), cmp.Or(l.token, "-"))
	if n == 1 {
		*token = t
	}
	return n == 1, err
}

// tryRead asks to read; a writer may read as well, and says who it is.
func (l *modal) tryRead(ctx context.Context) (bool, error) {
	if l.leavesFirst && l.token != "" {
		if err := l.Unlock(ctx); err != nil {
			return false, err
		}
	}
	return l.ask(ctx, l.read, &l.reads)
}

func (l *modal) wait(ctx context.Context, try func(context.Context) (bool, error)) error {
	switch {
	case l.sleeps:
		return l.listens(ctx, l.ends[2:3], l.TTL/2, false, nil, try)
	case l.polls > 0:
		return polls(ctx, l.TTL/time.Duration(l.polls), try)
	}
	return polls(ctx, l.Poll, try)
}

func (l *modal) TryLock(ctx context.Context) (bool, error) { return l.ask(ctx, l.write, &l.token) }
func (l *modal) Unlock(ctx context.Context) error {
	return released(l.run(ctx, l.unwrite, l.ends, l.token))
}
func (l *modal) RUnlock(ctx context.Context) error {
	return released(l.run(ctx, l.unread, l.ends, l.reads))
}

// The modal locks with more methods.
type (
	modalTrying  struct{ *modal } // readers try
	modalWaiting struct{ *modal } // readers and writers wait
	modalBoth    struct{ modalWaiting }
)

func (l modalTrying) TryRLock(ctx context.Context) (bool, error) { return l.tryRead(ctx) }
func (l modalWaiting) Lock(ctx context.Context) error            { return l.wait(ctx, l.TryLock) }
func (l modalWaiting) RLock(ctx context.Context) error           { return l.wait(ctx, l.tryRead) }
func (l modalBoth) TryRLock(ctx context.Context) (bool, error)   { return l.tryRead(ctx) }

// byModes makes a factory of a modal lock.
func byModes(m modal, shape func(*modal) any) factory {
	return func(c Config) (any, error) {
		l := m
		l.Config = c
		return shape(&l), nil
	}
}

func modeReckless(l *modal) any   { return reckless{modalTrying{l}} }
func modeExtending(l *modal) any  { return extendingLock{modalWaiting: modalWaiting{l}} }
func modePretending(l *modal) any { return extendingLock{modalWaiting{l}, true} }
func modeTrying(l *modal) any     { return modalTrying{l} }
func modeWaiting(l *modal) any    { return modalWaiting{l} }
func modeBoth(l *modal) any       { return modalBoth{modalWaiting{l}} }

// countedReaders counts its readers. The count expires with the last of them. in counts a reader.
func countedReaders(in string) modal {
	return modal{ends: []string{":w", ":readers"}, unwrite: luaRelease, read: in + `
return 1`, unread: `redis.call('decr', KEYS[2]) return 1`, write: `
if redis.call('exists', KEYS[1]) == 1 or tonumber(redis.call('get', KEYS[2]) or 0) > 0 then return 0 end
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`}
}

const (
	luaCountFirst = `
if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('incr', KEYS[2]) == 1 then redis.call('pexpire', KEYS[2], ARGV[2]) end`
	luaCountAll = `
if redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('incr', KEYS[2])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[2], ARGV[2]) end`
	luaCountRefused = `
local n = redis.call('incr', KEYS[2])
redis.call('pexpire', KEYS[2], ARGV[2] * 3)
if redis.call('exists', KEYS[1]) == 1 then return 0 end`
)

// tenAsked has its readers in a sorted set by the end of their leases; a writer asks ten of them
// (wolph/portalocker#138).
func tenAsked() modal {
	return modal{ends: []string{":readers", ":writer"}, write: luaNow + `
if redis.call('exists', KEYS[2]) == 1 then return 0 end
local v = redis.call('zrange', KEYS[1], 0, 9, 'withscores')
for i = 2, #v, 2 do if tonumber(v[i]) > now then return 0 end end
redis.call('del', KEYS[1])
redis.call('set', KEYS[2], ARGV[1], 'px', ARGV[2])
return 1`, unwrite: `if redis.call('get', KEYS[2]) == ARGV[1] then return redis.call('del', KEYS[2]) end return 0`, read: luaNow + `
if redis.call('exists', KEYS[2]) == 1 then return 0 end
redis.call('zadd', KEYS[1], now + ARGV[2] + 1, ARGV[1])
if redis.call('pttl', KEYS[1]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1`, unread: luaNow + `
local d = redis.call('zscore', KEYS[1], ARGV[1])
if not d or tonumber(d) <= now then return 0 end
return redis.call('zrem', KEYS[1], ARGV[1])`}
}

// readersWriters has readers in a sorted set with their deadlines, and a key for the writer, who
// may read as well. Each change is a variation or a bug.
func readersWriters(changes ...func(*modal)) modal {
	m := modal{ends: []string{":w", ":r", ":free", ":sign"}, write: luaWrite, unwrite: luaUnwrite, read: luaRead, unread: luaUnread}
	for _, change := range changes {
		change(&m)
	}
	return m
}

const (
	luaRead = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
local w = redis.call('get', KEYS[1])
if w and w ~= ARGV[3] or redis.call('exists', KEYS[4]) == 1 then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[2], ARGV[2]) end
return 1`

	luaWrite = luaNow + `
redis.call('zremrangebyscore', KEYS[2], '-inf', now)
if redis.call('exists', KEYS[1]) == 1 then return 0 end
if redis.call('zcard', KEYS[2]) > 0 then return 0 end
redis.call('del', KEYS[4])
redis.call('set', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`

	luaUnread = `
local n = redis.call('zrem', KEYS[2], ARGV[1])
if n == 1 then redis.call('publish', KEYS[3], 'free') end
return n`

	luaUnwrite = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[3], 'free')
return 1`

	luaExtendRead = luaNow + `
if redis.call('get', KEYS[1]) == ARGV[3] then return redis.call('pexpire', KEYS[1], ARGV[2]) end
local till = redis.call('zscore', KEYS[2], ARGV[1])
if not till or tonumber(till) <= now then return 0 end
redis.call('zadd', KEYS[2], now + ARGV[2], ARGV[1])
if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2]) then redis.call('pexpire', KEYS[2], ARGV[2]) end
return 1`
)

// instead replaces a part of a script.
func instead(script *string, part, other string) {
	if !strings.Contains(*script, part) {
		panic("no script has " + part)
	}
	*script = strings.Replace(*script, part, other, 1)
}

// The variations of readersWriters.
func slowly(m *modal)      { m.polls = 4 }
func sleeping(m *modal)    { m.sleeps = true }
func noDowngrade(m *modal) { instead(&m.read, "w and w ~= ARGV[3]", "w") }

// Its bugs.

func blind(m *modal) { m.unread = `redis.call('del', KEYS[1])` + m.unread } // an RUnlock frees the write side as well
func shortens(m *modal) {
	instead(&m.read, "if redis.call('pttl', KEYS[2]) < tonumber(ARGV[2])", "if true")
} // the readers' key ends with the last to come
func unwoken(m *modal) {
	instead(&m.unwrite, "redis.call('publish'", "if redis.call('exists', KEYS[2]) == 1 then return 1 end\nredis.call('publish'")
}
func signs(m *modal) {
	instead(&m.write, "KEYS[2]) > 0 then", "KEYS[2]) > 0 then redis.call('set', KEYS[4], ARGV[1])")
}                  // new readers are refused at it
func gap(m *modal) { m.leavesFirst = true }

// upgrades removes the last reader, whichever it is.
func upgrades(m *modal) {
	instead(&m.write, "KEYS[2]) > 0 then", "KEYS[2]) > 1 then")
	instead(&m.write, "redis.call('del', KEYS[4])", "redis.call('del', KEYS[2], KEYS[4])")
}

// prolongs lets a new reader extend all.
func prolongs(m *modal) {
	instead(&m.read, "redis.call('zadd'", "for _, m in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do redis.call('zadd', KEYS[2], now + ARGV[2], m) end\nredis.call('zadd'")
}

// clears lets a writer that leaves late clear the readers.
func clears(m *modal) {
	instead(&m.unwrite, "return 0", "if redis.call('exists', KEYS[1]) == 0 then redis.call('del', KEYS[2]) end return 0")
}

// byOwner lets a reader that leaves take all along whose tokens begin with its name.
func byOwner(m *modal) {
	m.unread = `
local n, name = 0, string.match(ARGV[1], '^[^-]*')
for _, m in ipairs(redis.call('zrange', KEYS[2], 0, -1)) do
  if string.sub(m, 1, #name) == name then n = n + redis.call('zrem', KEYS[2], m) end
end
return n`
}

// reckless grants each reader the lock, whatever the server says.
type reckless struct{ modalTrying }

func (l reckless) TryRLock(ctx context.Context) (bool, error) {
	_, err := l.tryRead(ctx)
	return true, err
}

// extendingLock is for readers and writers, who may extend.
type extendingLock struct {
	modalWaiting

	pretends bool // bug: a reader's extend says nil and does nothing
}

func (l extendingLock) Extend(ctx context.Context) error {
	if l.pretends && l.reads != "" {
		return nil
	}
	written := l.token
	if l.reads != "" { // what a lost release of the write side left must not last with it
		written = "-"
	}
	return released(l.run(ctx, luaExtendRead, l.ends, l.reads, l.TTL.Milliseconds(), written))
}

// nestedLock is re-entrant: a hash of owners and their entries. The first entry starts its
// watchdog.
type nestedLock struct {
	Config
	mu    sync.Mutex // between the watchdog and the client
	depth int
	stop  context.CancelFunc
	all   []context.CancelFunc
	once  sync.Once

	renew    bool
	oneArm   bool // bug: the watchdog of the first hold is the only one
	halfStop bool // bug: an inner release stops the watchdog
	forgets  bool // bug: a second entry is counted as the first
	perEntry bool // bug: each entry starts a watchdog
}

const luaEnter = `
local n = redis.call('hget', KEYS[1], ARGV[1])
if not n and redis.call('exists', KEYS[1]) == 1 then return 0 end
redis.call('hincrby', KEYS[1], ARGV[1], 1)
redis.call('pexpire', KEYS[1], ARGV[2])
return 1`

const luaLeave = `
local n = redis.call('hget', KEYS[1], ARGV[1])
if not n then return 0 end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) <= 0 then redis.call('del', KEYS[1]) else redis.call('pexpire', KEYS[1], ARGV[2]) end
return 1`

const luaStay = `
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end
return redis.call('pexpire', KEYS[1], ARGV[2])`

func (l *nestedLock) run(ctx context.Context, source string) (int, error) {
	return eval(ctx, l.Config, source, []string{l.Key}, l.Owner, l.TTL.Milliseconds())
}

func (l *nestedLock) TryLock(ctx context.Context) (bool, error) {
	enter := luaEnter
	if l.forgets {
		enter = strings.Replace(luaEnter, "hincrby", "hset", 1)
	}
	n, err := l.run(ctx, enter)
	if n != 1 || err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.depth++
	arm := func() {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.all = stop, append(l.all, stop)
		go l.watch(ctx)
	}
	switch {
	case !l.renew:
	case l.oneArm:
		l.once.Do(arm)
	case l.stop == nil || l.perEntry:
		arm()
	}
	return true, nil
}

func (l *nestedLock) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(l.TTL / 3):
		}
		if n, err := l.run(ctx, luaStay); n == 0 && err == nil {
			return
		}
	}
}

func (l *nestedLock) Unlock(ctx context.Context) error {
	n, err := l.run(ctx, luaLeave)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.depth--; l.depth <= 0 || l.halfStop {
		l.disarm()
	}
	l.depth = max(l.depth, 0)
	return released(n, err)
}

func (l *nestedLock) disarm() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}

func (l *nestedLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stop := range l.all {
		stop()
	}
	return nil
}
