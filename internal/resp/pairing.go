package resp

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Pairing finds the request to which a reply belongs, on one connection. T is the caller's data of
// a request. It handles requests without a reply (an empty one, CLIENT REPLY OFF), requests with
// several (SUBSCRIBE to several channels), and frames that are not replies (pushes, and messages in
// RESP2). Its methods may be called from several goroutines: one writes requests while another
// reads replies. The zero value is ready for use.
type Pairing[T any] struct {
	mu         sync.Mutex // guards the fields below
	ring       []entry[T]
	first, len int
	subscribed int  // channels and patterns, by the node's last confirmation
	subscribes bool // the connection has sent a request to subscribe
	muted      bool // CLIENT REPLY OFF
	skip       int  // requests that CLIENT REPLY SKIP leaves unanswered, itself included
}

type entry[T any] struct {
	value T
	left  int    // replies still to come; anyNumber for an unsubscription from everything
	sub   string // answered by confirmations of this command; "" for ordinary requests
	seen  bool   // a confirmation has come
}

const anyNumber = -1

// Expect records a request, which must not be sent before: its reply could come first. It returns
// false if no reply will come.
func (p *Pairing[T]) Expect(r Request, value T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.opaque || r.Len() == 0 {
		return false
	}
	if r.Len() == 3 && fold(r.Arg(0), "CLIENT") && fold(r.Arg(1), "REPLY") {
		p.muted = fold(r.Arg(2), "OFF") || p.muted && !fold(r.Arg(2), "ON")
		if fold(r.Arg(2), "SKIP") {
			p.skip = 2
		}
	}
	if p.skip > 0 {
		p.skip--
		return false
	}
	if p.muted {
		return false
	}
	if p.len == len(p.ring) {
		ring := make([]entry[T], max(8, 2*len(p.ring)))
		for i := range p.len {
			ring[i] = p.ring[(p.first+i)%len(p.ring)]
		}
		p.ring, p.first = ring, 0
	}
	e := &p.ring[(p.first+p.len)%len(p.ring)]
	p.len++
	*e = entry[T]{value: value, left: 1, sub: confirms(r.Arg(0))}
	if e.sub != "" {
		e.left = max(1, r.Len()-1)
		if strings.Contains(e.sub, "UN") && r.Len() == 1 {
			e.left = anyNumber
		}
	}
	p.subscribes = p.subscribes || e.sub != ""
	return true
}

// Subscribes reports whether the connection is subscribed, or has sent a request to subscribe.
func (p *Pairing[T]) Subscribes() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subscribed > 0 {
		return true
	}
	for i := range p.len {
		if p.ring[(p.first+i)%len(p.ring)].sub != "" {
			return true
		}
	}
	return false
}

// Answer returns the T of the request of a reply, and whether this is its last reply; zero values
// if there is no such request.
func (p *Pairing[T]) Answer(r Reply) (value T, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := p.confirmation(r)
	if kind == "" {
		message := p.subscribed > 0 && r.kind() == '*' &&
			slices.Contains([]string{"message", "pmessage", "smessage"}, string(r.elem(0)))
		if r.opaque || r.kind() == '>' || message {
			return value, false
		}
	}
	if p.len == 0 {
		return value, false
	}
	// A frame that does not confirm an unsubscription from everything ends that.
	if e := p.ring[p.first]; e.left == anyNumber && e.seen && kind != e.sub {
		if p.drop(); p.len == 0 {
			return value, false
		}
	}
	e := &p.ring[p.first]
	if kind != "" && kind != e.sub {
		return value, false
	}
	if kind != "" {
		e.seen = true
		more := p.subscribed > 0
		if e.left != anyNumber {
			e.left--
			more = e.left > 0
		}
		if more {
			return e.value, false
		}
	}
	p.drop()
	return e.value, true
}

// Abandon removes and returns the T of the oldest request without a reply, for a connection that
// has ended; false if there is none.
func (p *Pairing[T]) Abandon() (value T, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.len == 0 {
		return value, false
	}
	e := &p.ring[p.first]
	p.drop()
	return e.value, true
}

func (p *Pairing[T]) drop() {
	p.first = (p.first + 1) % len(p.ring)
	p.len--
}

func fold(b []byte, word string) bool { return strings.EqualFold(string(b), word) }

// confirms returns the command that a word in any case confirms, SUBSCRIBE or a like one; "" for
// any other word.
func confirms(word []byte) string {
	if c, _ := lookup(word); strings.HasSuffix(c.name, "SUBSCRIBE") {
		return c.name
	}
	return ""
}

// confirmation returns the command that a reply confirms, "" for any other reply, and updates the
// number of subscriptions.
func (p *Pairing[T]) confirmation(r Reply) string {
	if t := r.kind(); !p.subscribes || t != '*' && t != '>' {
		return ""
	}
	kind := confirms(r.elem(0))
	if kind == "" {
		return ""
	}
	if n, err := strconv.Atoi(string(r.elem(2))); err == nil {
		p.subscribed = n
	}
	return kind
}
