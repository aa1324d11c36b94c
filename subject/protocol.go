package subject

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/impls"
)

// Operations of a Request.
const (
	opDescribe = "describe" // return a Description; also used to measure the round trip
	opNew      = "new"      // make the client's handle on Key, replacing an older one
	opTry      = "try"      // try once to acquire the lock
	opAcquire  = "acquire"  // wait for the lock, for Wait at most
	opExtend   = "extend"   // restart the lease
	opRelease  = "release"  // release the lock
	opClose    = "close"    // end the handle's background work, without a release
	opCancel   = "cancel"   // cancel the acquire Of; sent only to a child that supports it, and has no reply
)

// Request is a line to a child, which exits at the end of its input. Per key, all but a cancel wait
// for the last reply. Replies come in any order.
type Request struct {
	ID  int64  `json:"id"` // counts from 1
	Op  string `json:"op"`
	Key string `json:"key,omitempty"` // of the lock; names the handle

	// For new.
	Client  string   `json:"client,omitempty"` // c1, c2, …
	Owner   string   `json:"owner,omitempty"`  // unique among the clients unless a scenario makes them collide
	Servers []string `json:"servers,omitempty"`
	// Sentinel is the name of the primary if Servers are sentinels, for a child that can
	// "sentinel"; one that cannot has an address that leads to the primary of the moment.
	Sentinel string `json:"sentinel,omitempty"`
	// Cluster reports that Servers are masters of a cluster; only a child that can "cluster" gets
	// one.
	Cluster bool    `json:"cluster,omitempty"`
	Lease   float64 `json:"lease_ms,omitempty"`
	Poll    float64 `json:"poll_ms,omitempty"` // interval at which a waiter polls
	Permits int     `json:"permits,omitempty"` // of a semaphore
	// by which the client\'s clock is off, for a lock that is given its clock
	Skew float64 `json:"skew_ms,omitempty"`

	// For try and acquire.
	Mode string  `json:"mode,omitempty"`    // "shared" for a reader; "" is exclusive
	Wait float64 `json:"wait_ms,omitempty"` // for acquire; 0 = no limit

	Of int64 `json:"of,omitempty"` // for cancel: the ID of the acquire
}

// Reply is a line from a child: the reply to a request, or, with Lost or Renewed, a notification.
type Reply struct {
	ID    int64  `json:"id,omitempty"`
	OK    bool   `json:"ok,omitempty"`
	Error string `json:"error,omitempty"` // one of the words of errorWords; of the reply to describe, any
	Text  string `json:"text,omitempty"`  // error text for people

	// For a grant, an extend and a renewal; all optional.
	Token string `json:"token,omitempty"`
	Fence uint64 `json:"fence,omitempty"`
	// for how long from now the lock promises the hold; default: a lease from the call
	Valid     *float64 `json:"valid_ms,omitempty"`
	UntilLost bool     `json:"until_lost,omitempty"` // it promises the hold until it sends lost
	Asked     *float64 `json:"asked_ms,omitempty"`   // how long ago the attempt began that was granted
	// when that was said, in nanoseconds since 1970, for a run on the same machine
	At int64 `json:"at,omitempty"`

	// For describe; all optional.
	Description

	Lost    string `json:"lost,omitempty"`    // notification: the hold on this key is lost
	Renewed string `json:"renewed,omitempty"` // notification: the lock renewed its hold on this key by itself

	line int // of the child's output
}

// Description describes a child's lock. The zero value is a mutex with a lease that can't extend
// and has no optional feature.
type Description struct {
	Name string   `json:"name,omitempty"` // for reports: library and version
	Kind string   `json:"kind,omitempty"` // mutex, reentrant, rw, semaphore; "" is mutex
	Can  []string `json:"can,omitempty"`  // words of canWords
	// Quorum is the number of masters that must grant a lock that can be "independent"; 0 is a
	// majority.
	Quorum int `json:"quorum,omitempty"`
}

// Has reports whether a word of Can is there.
func (d Description) Has(word string) bool { return slices.Contains(d.Can, word) }

// The words of Description.Can that are no trait.
const (
	CanCancel      = "cancel"      // an acquire can be cancelled
	canIndependent = "independent" // runs on several masters
	CanSentinel    = "sentinel"    // asks sentinels for the primary
	CanCluster     = "cluster"     // asks a cluster's masters who has a slot, and follows their redirections
)

// canWords has the trait of each word of Description.Can.
func canWords() map[string]func(*impls.Traits) *bool {
	none := func(*impls.Traits) *bool { return new(bool) }
	return map[string]func(*impls.Traits) *bool{
		"extend":        func(t *impls.Traits) *bool { return &t.Extends },
		"token":         func(t *impls.Traits) *bool { return &t.UniqueToken },
		"fence":         func(t *impls.Traits) *bool { return &t.Fenced },
		"valid":         func(t *impls.Traits) *bool { return &t.Validity },
		"lost":          func(t *impls.Traits) *bool { return &t.NotifiesLoss },
		"renew":         func(t *impls.Traits) *bool { return &t.SelfRenewing },
		"shared":        func(t *impls.Traits) *bool { return &t.Shared },
		"wakeups":       func(t *impls.Traits) *bool { return &t.Wakeups },
		"fifo":          func(t *impls.Traits) *bool { return &t.FIFO },
		"needs-replica": func(t *impls.Traits) *bool { return &t.NeedsReplica },
		"no-lease":      func(t *impls.Traits) *bool { return &t.NoLease },
		"nil-grants":    func(t *impls.Traits) *bool { return &t.NilGrants },
		canIndependent:  none,
		CanSentinel:     none,
		CanCluster:      none,
		CanCancel:       none,
	}
}

// errorWords has the words of Reply.Error, in order of precedence for an error that matches
// several.
var errorWords = [...]struct {
	word string
	err  error
}{
	{"unknown", impls.ErrUnknownOutcome}, {"unsupported", impls.ErrUnsupported}, {"busy", impls.ErrBusy}, {"lost", impls.ErrLost},
	{"not_held", impls.ErrNotHeld}, {"unavailable", impls.ErrUnavailable}, {"cancelled", impls.ErrCancelled},
}

func word(err error) string {
	for _, e := range errorWords {
		if errors.Is(err, e.err) {
			return e.word
		}
	}
	return "unknown"
}

// outcome returns the error that a reply stands for; nil for ok.
func (r Reply) outcome(what string) error {
	if r.Error == "" {
		return nil
	}
	known, ok := meaning(r.Error)
	if !ok { // of describe, for which any word will do
		known, r.Text = impls.ErrUnknownOutcome, r.Error
	}
	if r.Text == "" {
		return fmt.Errorf("%s: %w", what, known)
	}
	return fmt.Errorf("%s: %w: %s", what, known, r.Text)
}

// meaning returns the error for which a word stands.
func meaning(word string) (known error, ok bool) {
	for _, e := range errorWords {
		if e.word == word {
			return e.err, true
		}
	}
	return nil, false
}

// checkWord returns an error for an error word that has no meaning.
func (r Reply) checkWord() error {
	if _, ok := meaning(r.Error); ok || r.Error == "" {
		return nil
	}
	all := make([]string, len(errorWords))
	for i, e := range errorWords {
		all[i] = e.word
	}
	return fmt.Errorf(`line %d of its output: the error %q has no meaning: want one of %s; what else there is to say belongs in "text"`,
		r.line, r.Error, strings.Join(all, ", "))
}

// maxToken bounds a token, which every operation on its hold has: a record has room for it.
const maxToken = 4096

// decodeReply reads one line. Unknown fields are ignored.
func decodeReply(line []byte) (Reply, error) {
	var r Reply
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("want one JSON object a line, as in {\"id\":1,\"ok\":true}: %w", err)
	}
	switch {
	case r.Lost != "" || r.Renewed != "":
		return r, nil
	case r.ID <= 0:
		return r, errors.New(`want the "id" of the request, or "lost"`)
	case !r.OK && r.Error == "":
		return r, errors.New(`want "ok":true or an "error"`)
	case len(r.Token) > maxToken:
		return r, fmt.Errorf("a token of %d bytes, want %d at the most", len(r.Token), maxToken)
	}
	return r, nil
}
