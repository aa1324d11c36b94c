package locktest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/internal/resp"
)

// Locks of other kinds than those in locks_test.go. A field is a variation or a bug.

// quorumLock is one lock on several masters.
type quorumLock struct {
	Config
	token string

	half    bool // bug: half of the nodes are enough
	keeps   bool // bug: a failed attempt keeps its votes
	forgets bool // bug: releases only on the nodes that granted
	got     []redis.UniversalClient
}

func (l *quorumLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	begin := time.Now()
	l.got = nil
	answered := 0
	var last error
	for _, n := range l.Nodes {
		short, cancel := context.WithTimeout(ctx, l.TTL/20)
		ok, err := n.SetNX(short, l.Key, token, l.TTL).Result()
		cancel()
		if err == nil {
			answered++
		}
		if ok {
			l.got = append(l.got, n)
		}
		last = errors.Join(last, err)
	}
	need := len(l.Nodes)/2 + 1
	if l.half {
		need = len(l.Nodes) / 2
	}
	if len(l.got) >= need && time.Since(begin) < l.TTL*9/10 {
		l.token = token
		return true, nil
	}
	if !l.keeps {
		_ = l.end(context.WithoutCancel(ctx), token)
	}
	if answered >= need {
		return false, nil
	}
	return false, last
}

func (l *quorumLock) end(ctx context.Context, token string) (err error) {
	all := l.Nodes
	if l.forgets {
		all = l.got
	}
	done := 0
	for _, n := range all {
		short, cancel := context.WithTimeout(ctx, l.TTL/20)
		e := redis.NewScript(luaRelease).Run(short, n, []string{l.Key}, token).Err()
		if err = errors.Join(err, e); e == nil {
			done++
		}
		cancel()
	}
	if done > len(l.Nodes)/2 {
		return nil
	}
	return err
}

func (l *quorumLock) Unlock(ctx context.Context) error {
	if l.token == "" {
		return errGone
	}
	token := l.token
	l.token = ""
	return l.end(ctx, token)
}

// trailingLock returns from a release when a majority has replied; the last master is asked a
// little later than the others.
type trailingLock struct {
	quorumLock
	background sync.WaitGroup
}

func (l *trailingLock) Unlock(ctx context.Context) error {
	if l.token == "" {
		return errGone
	}
	key, token := []string{l.Key}, l.token
	l.token = ""
	replies := make(chan error, len(l.Nodes))
	for i, n := range l.Nodes {
		l.background.Go(func() {
			if i == len(l.Nodes)-1 {
				time.Sleep(100 * time.Microsecond)
			}
			short, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/20)
			defer cancel()
			replies <- redis.NewScript(luaRelease).Run(short, n, key, token).Err()
		})
	}
	var all error
	done := 0
	for range l.Nodes {
		err := <-replies
		if all = errors.Join(all, err); err != nil {
			continue
		}
		if done++; done > len(l.Nodes)/2 {
			return nil
		}
	}
	return all
}

func (l *trailingLock) Close() error {
	l.background.Wait()
	return nil
}

// wireLock writes requests itself, over its own pool of connections.
type wireLock struct {
	Config
	addressOnly bool // dials with net.Dial
	mu          sync.Mutex
	idle        []net.Conn
	token       string

	hoards bool // bug: never reuses a connection
}

func (l *wireLock) conn(ctx context.Context) (net.Conn, error) {
	l.mu.Lock()
	if n := len(l.idle); n > 0 && !l.hoards {
		c := l.idle[n-1]
		l.idle = l.idle[:n-1]
		l.mu.Unlock()
		return c, nil
	}
	l.mu.Unlock()
	if l.addressOnly {
		return net.Dial("tcp", l.Addrs[0])
	}
	return l.Dial(ctx, "tcp", l.Addrs[0])
}

// call sends a request and reads a reply of one line, or a short string. It does not reuse a failed
// connection.
func (l *wireLock) call(ctx context.Context, words ...string) (string, error) {
	c, err := l.conn(ctx)
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	_, err = c.Write(resp.AppendRequest(nil, words...))
	var line string
	if err == nil {
		line, err = bufio.NewReader(c).ReadString('\n')
	}
	if !stop() || err != nil {
		return "", errors.Join(err, ctx.Err(), c.Close())
	}
	l.mu.Lock()
	l.idle = append(l.idle, c)
	l.mu.Unlock()
	if line = strings.TrimSpace(line); strings.HasPrefix(line, "-") {
		return "", errors.New(line[1:])
	}
	return line, nil
}

func (l *wireLock) TryLock(ctx context.Context) (bool, error) {
	token := fmt.Sprint(l.Owner, time.Now().UnixNano())
	line, err := l.call(ctx, "SET", l.Key, token, "NX", "PX", strconv.FormatInt(l.TTL.Milliseconds(), 10))
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.TTL/4)
		defer cancel()
		_, _ = l.call(undo, "EVAL", luaRelease, "1", l.Key, token)
		return false, err
	}
	if line == "+OK" {
		l.token = token
	}
	return line == "+OK", nil
}

func (l *wireLock) Unlock(ctx context.Context) error {
	line, err := l.call(ctx, "EVAL", luaRelease, "1", l.Key, l.token)
	if err == nil && line != ":1" {
		err = errGone
	}
	return err
}

func (l *wireLock) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.idle {
		_ = c.Close()
	}
	l.idle = nil
	return nil
}

// wakeLock has a list of wake-ups beside its key, on which waiters block.
type wakeLock struct {
	owned

	flat    bool // bug: the list's name may be that of another lock
	orphans bool // bug: an unused wake-up stays
	early   bool // bug: wakes before the lock is free
	mute    bool // bug: wakes no waiter
	deaf    bool // bug: a waiter that gave up takes the next wake-up
}

// luaWake leaves one wake-up, which ends with the lease; luaOrphans one for each release, without
// an end.
const (
	luaWake = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
if redis.call('llen', KEYS[2]) == 0 then redis.call('lpush', KEYS[2], 1) end
redis.call('pexpire', KEYS[2], ARGV[2])
return redis.call('del', KEYS[1])`
	luaOrphans = `
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('lpush', KEYS[2], 1)
return redis.call('del', KEYS[1])`
)

func (l *wakeLock) keys() []string {
	if l.flat {
		return []string{l.Key, l.Key + ":wake"}
	}
	return []string{"{" + l.Key + "}", "{" + l.Key + "}:wake"}
}

func (l *wakeLock) TryLock(ctx context.Context) (bool, error) {
	return l.takes(ctx, l.keys()[0])
}

func (l *wakeLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.TryLock(ctx); ok || err != nil {
			return err
		}
		woken := make(chan error, 1)
		life := ctx
		if l.deaf {
			life = context.WithoutCancel(ctx)
		}
		go func() { woken <- l.Redis.BLPop(life, time.Second, l.keys()[1]).Err() }() // BLPOP counts in seconds
		select {
		case err := <-woken:
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *wakeLock) Unlock(ctx context.Context) error {
	script := luaWake
	switch {
	case l.mute:
		script = luaRelease
	case l.early:
		script = luaRelease
		l.Redis.LPush(ctx, l.keys()[1], 1)
		time.Sleep(5 * time.Millisecond)
	case l.orphans:
		script = luaOrphans
	}
	return released(eval(ctx, l.Config, script, l.keys(), l.token, l.TTL.Milliseconds()))
}
