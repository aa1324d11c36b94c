// Package resp finds the frames of the Redis protocol, RESP2 and RESP3, in a stream of bytes: requests on the way to
// a node, replies on the way back. The fault proxy, the connections of a client under the gate and the simulated
// network need to know where one request or one reply ends, which command it is and what it contains, without
// changing a byte of it.
//
// Data flows in one direction. [Requests] and [Replies] are fed the bytes of one direction of one connection in whatever pieces
// they come; Next returns the complete frames in order, as views of the caller's bytes where a frame came in one piece. [Pairing]
// returns the request to which a reply belongs. Nothing is allocated for a frame; text is made only on request
// ([Request.Strings], [Reply.Line]). [Keys] returns the arguments of a request that are keys, for the simulated nodes of a cluster.
//
// The package repairs nothing. A byte that is not RESP ends the framing of that direction: from
// then on every byte is returned as it came, so that a proxy that forwards Raw forwards exactly what was sent. It
// opens no connection and knows nothing of locks.
package resp

import "errors"

// The reasons why framing ends, wrapped with what was found.
var (
	// errSyntax: the bytes are not RESP.
	errSyntax = errors.New("not RESP")
	// errLimit: a frame goes beyond maxDepth, maxLine, maxItems or maxFrame.
	errLimit = errors.New("beyond the limits of the framer")
)

// The limits of a frame. A larger one is passed through unparsed.
const (
	maxDepth = 32       // levels of aggregates within a reply
	maxLine  = 64 << 10 // bytes of a line: a simple string, an error, an inline request, the head of anything else
	maxItems = 1 << 20  // arguments of a request, elements of an aggregate
	maxFrame = 64 << 20 // bytes of a frame, all of which are kept until it is complete
)
