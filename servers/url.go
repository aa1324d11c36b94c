package servers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// URL is a user's Redis. lockbench uses and deletes only keys under the run's prefix, and never
// sends FLUSHALL, FLUSHDB, CONFIG, SHUTDOWN or SCRIPT FLUSH. Server faults are refused. User names
// and passwords are in no error, log or String.
type URL struct{ targets []target }

var _ surveyor = (*URL)(nil)

// NewURL returns a provider of redis:// and rediss:// addresses, one for a standalone server or
// several for independent masters.
func NewURL(access Access, addresses ...string) (*URL, error) {
	if len(addresses) == 0 || len(addresses) > maxNodes {
		return nil, fmt.Errorf("%d Redis URLs: 1 to %d", len(addresses), maxNodes)
	}
	u := &URL{}
	for i, address := range addresses {
		t, err := parseTarget(address)
		if err == nil && t.tls == nil && (access.CA != nil || len(access.Own) > 0) {
			err = fmt.Errorf("%s: %w", t, ErrNoTLS)
		}
		if t.tls != nil {
			t.tls.RootCAs, t.tls.Certificates = access.CA, access.Own
		}
		if t.login != nil && access.Login != nil {
			if _, password := t.login(); password == "" {
				t.login = access.Login
			}
		}
		if err != nil {
			return nil, fmt.Errorf("server URL %d: %w", i+1, err)
		}
		u.targets = append(u.targets, t)
	}
	return u, nil
}

func (*URL) Name() string { return "url" }
func (*URL) Guest() bool  { return true }

// String returns the addresses without credentials.
func (u *URL) String() string {
	words := make([]string, len(u.targets))
	for i, t := range u.targets {
		words[i] = t.String()
	}
	return strings.Join(words, ",")
}

// Available sends PING to every server.
func (u *URL) Available(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, greetTime)
	defer cancel()
	for _, t := range u.targets {
		if _, err := do(ctx, t.dial, "PING"); err != nil {
			hint, closed := "", errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
			switch {
			case strings.Contains(err.Error(), "NOAUTH"):
				hint = " (give the password by --password-file, LOCKBENCH_REDIS_PASSWORD or in the URL)"
			case t.tls == nil && closed:
				hint = " (does the server speak TLS? then its address begins with rediss://)"
			case t.tls != nil && errors.Is(err, context.DeadlineExceeded):
				hint = " (does the server speak TLS? without, its address begins with redis://)"
			}
			return fmt.Errorf("%s: %w: %w%s", t, ErrMissing, err, hint)
		}
	}
	return nil
}

func (u *URL) refuse(what string) error {
	return fmt.Errorf("%s: server faults are not allowed on a Redis given by URL: %s: %w", what, u, ErrRefused)
}

func (u *URL) found(ctx context.Context) (string, error) { return u.String(), u.Available(ctx) }

// ability refuses what would harm a user's server, and another topology than that of the URLs.
func (u *URL) ability(_ context.Context, a Ability) error {
	other := string(impls.Independent)
	if len(u.targets) > 1 {
		other = string(impls.Standalone)
	}
	if a.Own || a.Name == other {
		return u.refuse(a.Name)
	}
	return nil
}

// Start sends PING to every server. The servers need not be empty.
func (u *URL) Start(ctx context.Context, spec Spec) (Deployment, error) {
	if spec.Topology == impls.Independent && spec.Nodes == 0 {
		spec.Nodes = len(u.targets)
	}
	spec, err := spec.fill()
	if err != nil {
		return nil, err
	}
	d := &guest{url: u, spec: spec}
	for range u.targets {
		d.named = append(d.named, &named{prefix: spec.Prefix, derives: spec.Derives, keys: map[string]struct{}{}})
	}
	switch { // what only servers started by lockbench can have
	case spec.ClockFaults:
		return nil, u.refuse("clock faults")
	case spec.MaxMemory > 0:
		return nil, u.refuse("a memory limit")
	case spec.Persistence != impls.PersistNone:
		return nil, u.refuse(fmt.Sprintf("persistence %s", spec.Persistence))
	case spec.Topology != impls.Standalone && spec.Topology != impls.Independent:
		return nil, u.refuse(string(spec.Topology) + " topology")
	}
	if spec.Nodes != len(u.targets) {
		wants, give := "one server", "one"
		if spec.Nodes > 1 {
			wants, give = fmt.Sprintf("%d independent masters", spec.Nodes), fmt.Sprintf("%d, separated by commas", spec.Nodes)
		}
		return nil, fmt.Errorf("%w: the lock is for %s, and there are %d; give %s", ErrAddresses, wants, len(u.targets), give)
	}
	if err := u.Available(ctx); err != nil {
		return nil, err
	}
	if spec.Prefix == "" {
		return d, nil
	}
	for i, t := range d.url.targets {
		// Before anything is written: may the user delete the run's keys? Nobody has made this one.
		if err := deleteKeys(ctx, to(d, i), []string{spec.Prefix + "permitted"}); err != nil {
			return d, fmt.Errorf("%s: the run deletes its keys at the end: %w: %w", t, ErrRefused, err)
		}
	}
	return d, nil
}

type wrongAddresses struct{}

func (wrongAddresses) Error() string { return "wrong number of Redis URLs" }

func (wrongAddresses) Unwrap() error { return ErrRefused }

// guest is a user's servers. It refuses every server fault.
type guest struct {
	url   *URL
	spec  Spec
	named []*named // by node
}

func (d *guest) Kill(context.Context, int) error    { return d.url.refuse("kill") }
func (d *guest) Restart(context.Context, int) error { return d.url.refuse("restart") }
func (d *guest) Pause(context.Context, int) error   { return d.url.refuse("pause") }
func (d *guest) Resume(context.Context, int) error  { return d.url.refuse("resume") }
func (d *guest) Promote(context.Context, int) error { return d.url.refuse("promote") }
func (d *guest) SetReplication(context.Context, int, bool) error {
	return d.url.refuse("set replication")
}
func (d *guest) JumpClock(context.Context, int, time.Duration) (at time.Time, err error) {
	return at, d.url.refuse("jump clock")
}
func (d *guest) DriftClock(context.Context, int, float64) (at time.Time, err error) {
	return at, d.url.refuse("drift clock")
}
func (d *guest) SetClockRight(context.Context, int) (was time.Duration, at time.Time, err error) {
	return was, at, d.url.refuse("set clock right")
}
func (d *guest) EvictKeys(context.Context, int, ...string) ([]Eviction, error) {
	return nil, d.url.refuse("evict keys")
}
func (*guest) Sentinels() *Sentinels { return nil }
func (*guest) Log() *Log             { return nil }

func (d *guest) Topology() impls.Topology { return d.spec.Topology }

func (d *guest) Len() int { return len(d.url.targets) }

func (d *guest) Addr(i int) string {
	if i < 0 || i >= len(d.url.targets) {
		return ""
	}
	return d.url.targets[i].addr
}

// Dial records the keys of the requests on the connection, for Close.
func (d *guest) Dial(ctx context.Context, i int) (net.Conn, error) {
	if err := inRange(i, len(d.url.targets)); err != nil {
		return nil, err
	}
	c, err := d.url.targets[i].dial(ctx)
	if err != nil {
		return nil, err
	}
	return &resp.Tap{Conn: c, Out: resp.EachRequest(d.named[i].note)}, nil
}

func (d *guest) Keys(ctx context.Context, i int, prefix string) ([]string, error) {
	if err := inRange(i, len(d.url.targets)); err != nil {
		return nil, err
	}
	keys := slices.DeleteFunc(d.named[i].all(), func(key string) bool { return !impls.Under(prefix, key) })
	found := make([]*redis.IntCmd, len(keys))
	err := eachKey(ctx, d.url.targets[i].dial, keys, func(p redis.Pipeliner, i int) { found[i] = p.Exists(ctx, keys[i]) })
	if err != nil {
		return nil, err
	}
	var there []string
	for i, key := range keys {
		if found[i].Val() > 0 {
			there = append(there, key)
		}
	}
	return there, nil
}

// Info sends INFO and not CONFIG.
func (d *guest) Info(ctx context.Context) ([]history.Server, error) {
	infos := make([]history.Server, len(d.url.targets))
	for i, t := range d.url.targets {
		infos[i].Name = t.String()
		fields, err := infoFields(ctx, t.dial, "default")
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", t, ErrRefused, err)
		}
		infos[i].Make, infos[i].Version = makeOf(fields)
		infos[i].Config = map[string]string{"maxmemory": fields["maxmemory"], "maxmemory-policy": fields["maxmemory_policy"]}
		if on, ok := fields["aof_enabled"]; ok {
			infos[i].Config["appendonly"] = map[string]string{"0": "no", "1": "yes"}[on]
		}
	}
	return infos, nil
}

// FlushScripts is refused: other users share the script cache.
func (d *guest) FlushScripts(context.Context, int) error { return d.url.refuse("flush scripts") }

// DeleteKeys refuses all keys if one is not under the run's prefix.
func (d *guest) DeleteKeys(ctx context.Context, i int, keys ...string) error {
	for _, key := range keys {
		if d.spec.Prefix == "" || !impls.Under(d.spec.Prefix, key) {
			return d.url.refuse(fmt.Sprintf("delete %q, which does not begin with the run's prefix %q", key, d.spec.Prefix))
		}
	}
	return deleteKeys(ctx, to(d, i), keys)
}

// Limits of what is asked of a user's servers before and after a run.
const (
	greetTime = 5 * time.Second
	closeTime = 10 * time.Second
)

// Close deletes the run's keys by name. It takes no context: it must work after a cancelled run.
func (d *guest) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	for i, t := range d.url.targets {
		if err := deleteKeys(ctx, t.dial, d.named[i].all()); err != nil {
			why := ErrRefused // it answered, with an error
			if impls.ConnectionFailed(err) {
				why = ErrLost
			}
			return fmt.Errorf("%s: keys that begin with %s are left: %w: %w", t, d.spec.Prefix, why, err)
		}
	}
	return nil
}

// target is one server of a user. The login is a function, so that fmt cannot print the password.
type target struct {
	addr     string
	login    func() (user, password string)
	database int
	tls      *tls.Config
}

// parseTarget returns errors without the address, which may have a password.
func parseTarget(address string) (target, error) {
	scheme, _, _ := strings.Cut(address, "://")
	if scheme != "redis" && scheme != "rediss" {
		return target{}, fmt.Errorf("it must look like redis://[user:password@]host[:port][/database], or rediss:// for TLS")
	}
	o, err := redis.ParseURL(address)
	if err != nil {
		return target{}, fmt.Errorf("it cannot be read (not shown: it may hold a password); it must look like redis://[user:password@]host[:port][/database], special characters percent-encoded")
	}
	if _, port, err := net.SplitHostPort(o.Addr); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return target{}, fmt.Errorf("port %s: must be between 0 and 65535", port)
		}
	}
	login := func() (string, string) { return o.Username, o.Password }
	return target{addr: o.Addr, login: login, database: o.DB, tls: o.TLSConfig}, nil
}

// String returns the address without user and password.
func (t target) String() string {
	scheme := "redis"
	if t.tls != nil {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, t.addr, t.database)
}

// dial returns a connection that is logged in, so that lock clients, proxies and child processes
// need not know the password.
func (t target) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	dial := new(net.Dialer).DialContext
	if t.tls != nil {
		dial = (&tls.Dialer{Config: t.tls}).DialContext
	}
	conn, err := dial(ctx, "tcp", t.addr)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	err = conn.SetDeadline(deadline)
	var greeting [][]string
	switch user, password := t.login(); {
	case password == "":
	case user == "":
		greeting = append(greeting, []string{"AUTH", password})
	default:
		greeting = append(greeting, []string{"AUTH", user, password})
	}
	if t.database != 0 {
		greeting = append(greeting, []string{"SELECT", strconv.Itoa(t.database)})
	}
	for i := 0; i < len(greeting) && err == nil; i++ {
		var line string
		if line, err = resp.Ask(conn, greeting[i]...); err != nil {
			err = fmt.Errorf("%s: %w", greeting[i][0], err)
		} else if !strings.HasPrefix(line, "+OK") { // the rest of an error reply may repeat arguments
			code, _, _ := strings.Cut(strings.TrimPrefix(line, "-"), " ")
			err = fmt.Errorf("%s refused by the server (%s)", greeting[i][0], code)
		}
	}
	if err = errors.Join(err, conn.SetDeadline(time.Time{})); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
