package history

import "encoding/json"

// Does is the set of things that a kind of fault does to what it hits, while it lasts. Who reads a
// window asks for these and need not know the names of faults.
type Does uint32

// What faults do.
const (
	// Hinders: even a correct lock may fail a client that meets it.
	Hinders Does = 1 << iota
	// Stops: the client, or the node, does nothing.
	Stops
	// Kills: the client is gone for good, or the node until it is started again; their connections
	// are closed.
	Kills
	// Delays: every message arrives, but late, which all locks must bear.
	Delays
	// HoldsRequests: a request that is on its way or is sent meanwhile reaches the node only at the
	// end. With one message, only that and what follows on its connection.
	HoldsRequests
	// HoldsReplies: likewise for replies on their way to the client.
	HoldsReplies
	// LosesRequests: the request that it meets never reaches the node, and its connection is cut.
	LosesRequests
	// LosesReplies: the reply that it meets never reaches the client, and its connection is cut.
	LosesReplies
	// LosesData: keys of the lock may be gone from the node, or be as they were before.
	LosesData
	// MovesClock: the node's clock is set or runs at another rate, so that leases end sooner or
	// later.
	MovesClock
	// ForgetsScripts: the node has no scripts any more.
	ForgetsScripts
	// SkewsClient: the client's wall clock is off.
	SkewsClient
	// SharesOwner: clients have the same owner id.
	SharesOwner
	// SlowsWork: the client stays longer in its critical section.
	SlowsWork
	// CancelsCall: the context of the client's acquire ends.
	CancelsCall
	// CutsSubscriptions: connections with a subscription are cut.
	CutsSubscriptions
)

// doesWords are the words of the bits, in their order, in files.
var doesWords = []string{"hinders", "stops", "kills", "delays", "holds-requests", "holds-replies", "loses-requests", "loses-replies", "loses-data",
	"moves-clock", "forgets-scripts", "skews-client", "shares-owner", "slows-work", "cancels-call", "cuts-subscriptions"}

// Any reports whether it does any of what is asked for.
func (d Does) Any(of Does) bool { return d&of != 0 }

// Words lists what it does in words, as in files.
func (d Does) Words() []string {
	words := []string{}
	for i, word := range doesWords {
		if d.Any(1 << i) {
			words = append(words, word)
		}
	}
	return words
}

// MarshalJSON writes the words.
func (d Does) MarshalJSON() ([]byte, error) { return json.Marshal(d.Words()) }
