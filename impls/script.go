package impls

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// Script is one Lua script of a lock. Its file begins with comment lines: name, KEYS, ARGV,
// replies.
type Script struct {
	Name   string // file name, such as token_release.lua, used in reports
	Source string
	run    *redis.Script
}

// EmbeddedScript returns the script in the file lua/<name> that a package embeds.
func EmbeddedScript(files embed.FS, name string) *Script {
	source, _ := files.ReadFile("lua/" + name) // every script runs in a test
	return NewScript(name, string(source))
}

// NewScript returns a script with a source.
func NewScript(name, source string) *Script {
	return &Script{Name: name, Source: source, run: redis.NewScript(source)}
}

// Digest returns the script's SHA-1 for EVALSHA.
func (s *Script) Digest() string { return s.run.Hash() }

// Run calls the script by its digest, and sends its source if the server does not know it.
func (s *Script) Run(ctx context.Context, c redis.Scripter, keys []string, args ...any) *redis.Cmd {
	return s.run.Run(ctx, c, keys, args...)
}

// Millis returns the script with PEXPIRE for EXPIRE and PX for EX, for leases that are not whole
// seconds. The sources use seconds; this is the only change to them.
func (s *Script) Millis() *Script {
	src := strings.NewReplacer("'expire'", "'pexpire'", `"expire"`, `"pexpire"`, "'EX'", "'PX'", `"EX"`, `"PX"`).Replace(s.Source)
	return NewScript(strings.TrimSuffix(s.Name, ".lua")+"_ms.lua", src)
}

// WholeSeconds reports whether a lease is whole seconds.
func WholeSeconds(d time.Duration) bool { return d%time.Second == 0 }
