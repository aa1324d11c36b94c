package sim

import (
	"cmp"
	"strings"
)

// luaScripts are the Lua scripts that clients send.
type luaScripts struct {
	names   map[string]string // by digest
	sources map[string]string // by digest, of what was sent
	digest  func(source string) string
}

// script returns the digest of the script that a command runs, and its name if known, else the
// digest again.
func (s *luaScripts) script(command, arg string) (digest, name string) {
	if strings.HasPrefix(command, "EVALSHA") {
		digest = strings.ToLower(arg)
	} else {
		digest = s.source(arg)
	}
	return digest, cmp.Or(s.names[digest], digest)
}

// source keeps the source of a script and returns its digest.
func (s *luaScripts) source(text string) (digest string) {
	digest = s.digest(text)
	if _, known := s.sources[digest]; !known {
		s.sources[digest] = strings.Clone(text)
	}
	return digest
}
