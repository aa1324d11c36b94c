package mutex

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
)

var (
	sessionReleaseScript = impls.EmbeddedScript(lua, "session_release.lua")
)

// session is the lock object of the source's last listing: one value for the life of the object,
// and a local flag that it is locked.
type session struct {
	env    impls.Env
	value  string
	locked bool
}

var _ impls.Lock = (*session)(nil)

// openSession makes the value, an identifier and the client's time, once for all grants.
func openSession(env impls.Env) (impls.Lock, error) {
	id, err := impls.NewToken(env.Rand)
	if err != nil {
		return nil, err
	}
	return &session{env: env, value: fmt.Sprintf("%s.%d", id, env.Clock.Now().UnixMilli())}, nil
}

// Try refuses locally if the flag is set: the source throws there, and its caller turns that into a
// refusal. A failed attempt does not set the flag, though the key may have been written.
func (s *session) Try(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	if mode == history.Shared {
		return impls.Grant{}, fmt.Errorf("acquire %s shared: %w", s.env.Key, impls.ErrUnsupported)
	}
	if s.locked {
		return impls.Grant{}, fmt.Errorf("acquire %s: already locked by this object: %w", s.env.Key, impls.ErrBusy)
	}
	ok, err := impls.Yes(setnxExpireScript.Run(ctx, s.env, s.value))
	if err != nil {
		return impls.Grant{}, impls.ClassifyIn(ctx, "acquire "+s.env.Key, err)
	}
	if !ok {
		return impls.Grant{}, fmt.Errorf("acquire %s: %w", s.env.Key, impls.ErrBusy)
	}
	s.locked = true
	return impls.Grant{}, nil
}

// Acquire polls.
func (s *session) Acquire(ctx context.Context, mode history.Mode) (impls.Grant, error) {
	return impls.PollUntilGranted(ctx, s.env, mode, s.Try)
}

// Extend is not in the source.
func (s *session) Extend(context.Context) (impls.Grant, error) {
	return impls.Grant{}, fmt.Errorf("extend %s: %w", s.env.Key, impls.ErrUnsupported)
}

// Release clears the flag first and ignores the script's reply, as printed: a lost release cannot
// be repeated, and releasing a lost hold is no error.
func (s *session) Release(ctx context.Context) error {
	if !s.locked {
		return fmt.Errorf("release %s: %w", s.env.Key, impls.ErrNotHeld)
	}
	s.locked = false
	_, err := impls.Yes(sessionReleaseScript.Run(ctx, s.env.Redis(), []string{s.env.Key}, s.value))
	return impls.ClassifyIn(ctx, "release "+s.env.Key, err)
}

// Close does nothing.
func (s *session) Close() error { return nil }
