package mutex

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/impls"
)

var sessionReleaseScript = impls.EmbeddedScript(lua, "session_release.lua")

// openSession makes the lock object of the source's last listing: one value for the life of the
// object, an identifier and the client's time, and a local flag that it is locked.
func openSession(env impls.Env) (impls.Lock, error) {
	id, err := impls.NewToken(env.Rand)
	if err != nil {
		return nil, err
	}
	value, locked := fmt.Sprintf("%s.%d", id, env.Clock.Now().UnixMilli()), false
	return protocol{
		// It refuses locally if the flag is set: the source throws there, and its caller turns that
		// into a refusal. A failed attempt does not set the flag, though the key may have been
		// written.
		acquire: func(ctx context.Context, env impls.Env) (h hold, ok bool, err error) {
			if locked {
				return h, false, fmt.Errorf("already locked by this object: %w", impls.ErrBusy)
			}
			locked, err = impls.Yes(setnxExpireScript.Run(ctx, env, value))
			return h, locked, err
		},
		// It clears the flag first and ignores the script's reply, as printed: a lost release cannot be
		// repeated, and releasing a lost hold is no error.
		release: func(ctx context.Context, env impls.Env, _ hold) (bool, error) {
			if !locked {
				return false, impls.ErrNotHeld
			}
			locked = false
			_, err := impls.Yes(sessionReleaseScript.Run(ctx, env.Redis(), []string{env.Key}, value))
			return true, err
		},
	}.open(env)
}
