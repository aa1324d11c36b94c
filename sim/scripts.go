package sim

import "strings"

// luaScripts are the Lua scripts that clients send.
type luaScripts struct {
	names   map[string]string // by digest
	sources map[string]string // by digest, of what was sent
	digest  func(source string) string
}

// source keeps the source of a script and returns its digest.
func (s *luaScripts) source(text string) (digest string) {
	digest = s.digest(text)
	if _, known := s.sources[digest]; !known {
		s.sources[digest] = strings.Clone(text)
	}
	return digest
}
