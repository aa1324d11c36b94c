package resp

import "bytes"

// value is the first element of a complete frame: all of a scalar, the head of an aggregate.
type value struct {
	kind  byte
	text  []byte // of a scalar
	count int    // elements of an aggregate, keys and values counted apart
	null  bool
	size  int // bytes of the scalar, or of the aggregate's head
}

func (v value) aggregate() bool { return bytes.IndexByte([]byte("*~>%"), v.kind) >= 0 && v.kind != 0 }

// read reads the first element of a frame that is known to be complete.
func read(b []byte) value {
	var c cursor
	head, next, err := c.line(b)
	if err != nil || len(head) == 0 {
		return value{}
	}
	v := value{kind: head[0], text: head[1:], size: next}
	switch shapes[v.kind] {
	case bulk:
		n, _ := length(v.text, maxFrame)
		if v.null = n < 0; v.null || next+n > len(b) {
			v.text = nil
			return v
		}
		v.text, v.size = b[next:next+n], next+n+2
	case aggregate, pairs:
		n, _ := length(v.text, maxItems)
		v.null, v.count = n < 0, max(n, 0)
		if shapes[v.kind] == pairs {
			v.count *= 2
		}
	}
	return v
}
