package inject

import (
	"bytes"
	"strings"
	"sync"
)

// Scripts knows the scripts whose sources the clients of a run have sent. A server that was used
// before runs scripts by their digests alone; their sources would be missing in the record, and
// without them no command can be executed again. So the first call of such a script is answered as
// by a new server, with NOSCRIPT, and the client sends the source. The zero value is ready for use,
// by several goroutines; nil changes no call.
type Scripts struct {
	known sync.Map // by digest
}

// see notes a digest, and reports whether it was not known.
func (s *Scripts) see(digest string) bool {
	if s == nil {
		return false
	}
	_, known := s.known.LoadOrStore(digest, true)
	return !known
}

// unknownScript returns a packet with a digest that no script has in place of the given one.
func unknownScript(packet []byte, digest string) []byte {
	at := max(bytes.Index(packet, []byte(digest)), bytes.Index(packet, []byte(strings.ToUpper(digest))))
	if at < 0 {
		return packet // it came in two parts
	}
	changed := bytes.Clone(packet)
	copy(changed[at:], bytes.Repeat([]byte("0"), len(digest)))
	return changed
}
