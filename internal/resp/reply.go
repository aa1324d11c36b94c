package resp

import "iter"

// Replies frames the replies and pushes on one connection. The zero value is ready for use.
type Replies struct {
	feed
	scan replyScan
}

// Next returns the next complete reply or push, valid until the next call; false if more bytes are
// needed; all bytes once framing has ended.
func (s *Replies) Next() (Reply, bool) {
	raw, opaque := s.frame(s.scan.next)
	return Reply{Raw: raw, opaque: opaque}, raw != nil
}

// Reply is one reply, or one push.
type Reply struct {
	Raw    []byte // all its bytes, as they came
	opaque bool
}

// ParseReply parses raw; false if it is not exactly one complete reply.
func ParseReply(raw []byte) (Reply, bool) {
	var s replyScan
	if len(raw) == 0 {
		return Reply{}, false
	}
	n, err := s.next(raw)
	return Reply{Raw: raw}, err == nil && n == len(raw)
}

// kind returns the first byte of the value, such as '+', '$' or '>'; 0 for opaque bytes.
func (r Reply) kind() byte {
	if r.opaque || len(r.Raw) == 0 {
		return 0
	}
	return r.Raw[0]
}

// IsError reports whether the reply is an error.
func (r Reply) IsError() bool { return r.kind() == '-' || r.kind() == '!' }

// IsNil reports whether the reply is a null of any type.
func (r Reply) IsNil() bool {
	v := r.value()
	return v.kind == '_' || v.null
}

// Str returns the bytes of a string, number or error without its type; nil for null and for
// aggregates.
func (r Reply) Str() []byte {
	v := r.value()
	if v.null || v.aggregate() {
		return nil
	}
	return v.text
}

// Items yields the elements of an aggregate, keys and values apart.
func (r Reply) Items() iter.Seq[Reply] {
	return func(yield func(Reply) bool) {
		v := r.value()
		if !v.aggregate() {
			return
		}
		var s replyScan
		rest := r.Raw[v.size:]
		for range v.count {
			n, err := s.next(rest)
			if n <= 0 || err != nil || !yield(Reply{Raw: rest[:n]}) {
				return
			}
			rest = rest[n:]
		}
	}
}

// elem returns the bytes of element i of an aggregate; nil if there is none or it is an aggregate
// itself. It takes time linear in i.
func (r Reply) elem(i int) []byte {
	for item := range r.Items() {
		if i == 0 {
			return item.Str()
		}
		i--
	}
	return nil
}

func (r Reply) value() value {
	if r.kind() == 0 {
		return value{}
	}
	return read(r.Raw)
}
