package impls

import (
	"context"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Script is one Lua script of a variant. Its file begins with a header of comment lines: name, KEYS, ARGV, replies.
type Script struct {
	Name   string // file name, such as token_release.lua; how reports call it
	Source string
	run    *redis.Script
}

// NewScript makes a script from its embedded file.
func NewScript(name, source string) *Script {
	return &Script{Name: name, Source: source, run: redis.NewScript(source)}
}

// Digest is the SHA-1 by which EVALSHA calls it.
func (s *Script) Digest() string { return s.run.Hash() }

// Run calls the script by its digest, and sends its source when the server does not know it.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, keys, args...)
}

// Millis returns the same script with every EXPIRE in seconds turned into PEXPIRE, and every EX into PX, for leases that
// are not whole seconds. Sources print seconds; this is the only liberty that is taken with them.
func (s *Script) Millis() *Script {
	src := strings.NewReplacer("'expire'", "'pexpire'", `"expire"`, `"pexpire"`, "'EX'", "'PX'", `"EX"`, `"PX"`).Replace(s.Source)
	return NewScript(strings.TrimSuffix(s.Name, ".lua")+"_ms.lua", src)
}

// WholeSeconds reports whether a lease can be given in seconds, as the sources do.
func WholeSeconds(d time.Duration) bool { return d%time.Second == 0 }
