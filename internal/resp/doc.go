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
// The package repairs nothing. A byte that is not RESP ends the framing of that direction: Err returns the error, and
// from then on every byte is returned as it came, so that a proxy that forwards Raw forwards exactly what was sent. It
// opens no connection and knows nothing of locks.
package resp

import "errors"

// The reasons why framing ends, wrapped with what was found.
var (
	// ErrSyntax: the bytes are not RESP.
	ErrSyntax = errors.New("not RESP")
	// ErrLimit: a frame goes beyond MaxDepth, MaxLine, MaxItems or MaxFrame.
	ErrLimit = errors.New("beyond the limits of the framer")
)

// The limits of a frame. A larger one is passed through unparsed.
const (
	MaxDepth = 32       // levels of aggregates within a reply
	MaxLine  = 64 << 10 // bytes of a line: a simple string, an error, an inline request, the head of anything else
	MaxItems = 1 << 20  // arguments of a request, elements of an aggregate
	MaxFrame = 64 << 20 // bytes of a frame, all of which are kept until it is complete
)
