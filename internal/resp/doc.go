// Package resp finds the frames of the Redis protocol, RESP2 and RESP3, in a stream of bytes: requests on the way to
// a node, replies on the way back. The fault proxy, the connections of a client under the gate and the simulated
// network all need to know where one request or one reply ends, which command it is and what it says, without
// changing a byte of it.
//
// Data flows in one direction. [Requests] and [Replies] are fed the bytes of one direction of one connection in whatever pieces
// they come; Next gives the complete frames in order, as views of the caller's bytes where a frame came in one piece. [Pairing] tells
// which request a reply belongs to. Nothing is allocated for a frame; text is made only when it is asked for
// ([Request.Strings], [Reply.Line]). [Keys] says which arguments of a request are keys, for whoever stands for a node of a cluster.
//
// The package refuses to judge or to repair. A byte that is not RESP ends the framing of that direction: the error is in Err, and
// from then on every byte is handed back as it came, so that whoever forwards Raw forwards exactly what was sent. It
// opens no connection and knows nothing of locks.
package resp

import "errors"

// The reasons for which framing ends. They are wrapped with what was found.
var (
	// ErrSyntax: the bytes are not RESP.
	ErrSyntax = errors.New("not RESP")
	// ErrLimit: a frame goes beyond MaxDepth, MaxLine, MaxItems or MaxFrame.
	ErrLimit = errors.New("beyond the limits of the framer")
)

// What is framed. A frame beyond these is passed through, but no longer understood.
const (
	MaxDepth = 32       // levels of aggregates within a reply
	MaxLine  = 64 << 10 // bytes of a line: a simple string, an error, an inline request, the head of anything else
	MaxItems = 1 << 20  // arguments of a request, elements of an aggregate
	MaxFrame = 64 << 20 // bytes of a frame, all of which are kept until it is complete
)
