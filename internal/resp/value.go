package resp

import "bytes"

// value is the first element of a complete frame: all of a scalar, the head of an aggregate.
type value struct {
	kind     byte
	text     []byte // of a scalar; of a streamed string, its first chunk
	count    int    // elements of an aggregate, keys and values counted apart
	null     bool
	streamed bool
	size     int // bytes of the scalar, or of the aggregate's head
}

func (v value) aggregate() bool { return bytes.IndexByte([]byte("*~>%|"), v.kind) >= 0 && v.kind != 0 }

// read reads the first element of a frame that is known to be complete.
func read(b []byte) value {
	var c cursor
	head, next, err := c.line(b)
	if err != nil || len(head) == 0 {
		return value{}
	}
	v := value{kind: head[0], text: head[1:], size: next}
	switch shapes[v.kind] {
	case bulk, chunk:
		v.readBulk(b, next)
	case aggregate, pairs, attribute:
		v.readAggregate(head[1:])
	}
	return v
}

func (v *value) readBulk(b []byte, from int) {
	if v.streamed = isStreamed(v.text); v.streamed {
		if chunk := read(b[from:]); chunk.kind == ';' {
			v.text = chunk.text
		}
		return
	}
	n, _ := length(v.text, maxFrame)
	if v.null = n < 0; v.null || from+n > len(b) {
		v.text = nil
		return
	}
	v.text, v.size = b[from:from+n], from+n+2
}

func (v *value) readAggregate(head []byte) {
	if v.streamed = isStreamed(head); v.streamed {
		return
	}
	v.count, _ = length(head, maxItems)
	if v.null = v.count < 0; v.null {
		v.count = 0
	}
	if shapes[v.kind] != aggregate {
		v.count *= 2
	}
}

func isStreamed(head []byte) bool { return len(head) == 1 && head[0] == '?' }
