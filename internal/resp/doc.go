// Package resp finds the frames of the Redis protocol, RESP2 and RESP3, in a stream of bytes:
// requests to a node, and its replies. The fault proxy, a client's connections and the simulated
// network use it to find where a request or reply ends and what it contains, without changing a
// byte.
//
// [Requests] and [Replies] take the bytes of one direction of one connection, in pieces of any
// size; Next returns the complete frames in order, as views of the caller's bytes if a frame came
// in one piece. [Pairing] returns the request to which a reply belongs. Frames are not allocated;
// text is made on demand ([Request.Strings], [Reply.Line]). [Keys] returns the keys of a request,
// for the simulated nodes of a cluster.
//
// A byte that is not RESP ends the framing of its direction: from then on all bytes are returned as
// they came, so that a proxy that forwards Raw forwards exactly what was sent. A client in this
// process must not see what is beyond the limits, because it allocates what a server announces:
// [Bound] ends its connection. The package opens no connections and does not know about locks.
package resp

import "errors"

// The reasons for which framing ends, wrapped with the offending bytes.
var (
	// errSyntax: the bytes are not RESP.
	errSyntax = errors.New("not RESP")
	// errLimit: a frame goes beyond maxDepth, maxLine, maxItems or maxFrame.
	errLimit = errors.New("beyond the limits of the framer")
)

// The limits of a frame. A proxy passes a larger one through unparsed.
const (
	maxDepth = 32       // levels of aggregates within a reply
	maxLine  = 64 << 10 // bytes of a line: a simple string, an error, an inline request, the head of anything else
	// arguments of a request, elements of all aggregates of a reply: for each, go-redis allocates
	// 16 bytes at once
	maxItems = 1 << 18
	maxFrame = 8 << 20 // bytes of a frame, which are kept until it is complete
)
