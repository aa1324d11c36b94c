package resp

import "fmt"

// shape determines how the end of an element is found.
type shape uint8

const (
	unknown   shape = iota
	line            // one line
	bulk            // a length, then that many bytes
	aggregate       // a count, then that many elements
	pairs           // a count, then twice as many elements
	attribute       // as pairs, and the value that they describe follows
	chunk           // part of a streamed string
	end             // of a streamed aggregate
)

// shapes has the shape for the first byte of an element.
var shapes = [256]shape{
	'+': line, '-': line, ':': line, '_': line, '#': line, ',': line, '(': line,
	'$': bulk, '!': bulk, '=': bulk,
	'*': aggregate, '~': aggregate, '>': aggregate,
	'%': pairs, '|': attribute, ';': chunk, '.': end,
}

// level is an aggregate whose elements are being read.
type level struct {
	left  int   // elements still to come; endless for streamed ones
	shape shape // aggregate, pairs, attribute, or bulk for the chunks of a streamed string
}

const endless = -1

// replyScan finds the end of the reply at the start of a growing buffer. It has its own stack, so
// that a nested reply is parsed once.
type replyScan struct {
	cursor
	body   int // offset of the value in the frame last found
	start  int // offset of the value in the current frame
	items  int // elements announced in the current frame
	depth  int
	levels [maxDepth]level
}

// next returns the length of the reply at the start of buf; 0 if it is incomplete.
func (s *replyScan) next(buf []byte) (int, error) {
	for {
		done, err := s.element(buf)
		if err == nil && s.pos > maxFrame {
			err = fmt.Errorf("%w: a reply of more than %d bytes", errLimit, maxFrame)
		}
		if err != nil {
			return 0, err
		}
		if !done.moved {
			return 0, nil
		}
		if done.value && s.complete() {
			n := s.pos
			s.body = s.start
			s.cursor, s.start, s.items, s.depth = cursor{}, 0, 0, 0
			return n, nil
		}
	}
}

// step is the result of reading one element.
type step struct {
	moved bool // the cursor moved; false: more bytes are needed
	value bool // a whole value has been read, not only the head of one
}

// element reads a scalar or the head of an aggregate.
func (s *replyScan) element(buf []byte) (step, error) {
	text, next, err := s.line(buf)
	if text == nil || err != nil {
		return step{}, err
	}
	var kind shape
	if len(text) > 0 {
		kind = shapes[text[0]]
	}
	if inside := s.top(); inside.shape == bulk && kind != chunk || inside.shape != bulk && kind == chunk {
		return step{}, fmt.Errorf("%w: %.1q in the wrong place of a streamed string", errSyntax, text)
	}
	switch kind {
	case line:
		s.pos = next
		return step{true, true}, nil
	case bulk, chunk:
		return s.bulk(buf, text[1:], next, kind)
	case aggregate, pairs, attribute:
		return s.open(text[1:], next, kind)
	case end:
		return s.end(next)
	}
	return step{}, fmt.Errorf("%w: an element begins with %.1q", errSyntax, text)
}

// bulk reads a string, the head of a streamed one, or a chunk of it. An empty chunk is the last.
func (s *replyScan) bulk(buf, head []byte, from int, kind shape) (step, error) {
	if kind == bulk && isStreamed(head) {
		return s.push(from, level{endless, bulk})
	}
	n, err := length(head, maxFrame)
	if err != nil {
		return step{}, err
	}
	if kind == chunk && n <= 0 {
		s.depth--
		s.pos = from
		return step{true, true}, nil
	}
	if n < 0 {
		s.pos = from
		return step{true, true}, nil
	}
	next, err := payload(buf, from, n)
	if next == 0 || err != nil {
		return step{}, err
	}
	s.pos = next
	return step{true, kind == bulk}, nil
}

func (s *replyScan) open(head []byte, next int, kind shape) (step, error) {
	if isStreamed(head) && kind != attribute {
		return s.push(next, level{endless, kind})
	}
	n, err := length(head, maxItems)
	if err != nil {
		return step{}, err
	}
	if kind != aggregate {
		n *= 2
	}
	if s.items += max(n, 0); s.items > maxItems {
		return step{}, fmt.Errorf("%w: a reply of %d elements, more than %d", errLimit, s.items, maxItems)
	}
	if n > 0 {
		return s.push(next, level{n, kind})
	}
	s.pos = next
	if kind == attribute {
		s.described()
		return step{true, false}, nil
	}
	return step{true, true}, nil
}

func (s *replyScan) push(next int, l level) (step, error) {
	if s.depth == maxDepth {
		return step{}, fmt.Errorf("%w: more than %d levels", errLimit, maxDepth)
	}
	s.pos = next
	s.levels[s.depth] = l
	s.depth++
	return step{true, false}, nil
}

func (s *replyScan) end(next int) (step, error) {
	if l := s.top(); l.left != endless || l.shape == unknown {
		return step{}, fmt.Errorf("%w: an end without a streamed aggregate", errSyntax)
	}
	s.depth--
	s.pos = next
	return step{true, true}, nil
}

// complete counts the value just read, leaves the levels that it completes, and reports whether the
// frame is complete.
func (s *replyScan) complete() bool {
	for s.depth > 0 {
		l := &s.levels[s.depth-1]
		if l.left == endless {
			return false
		}
		if l.left--; l.left > 0 {
			return false
		}
		s.depth--
		if l.shape == attribute {
			s.described()
			return false
		}
	}
	return true
}

// described records the end of the frame's attributes.
func (s *replyScan) described() {
	if s.depth == 0 {
		s.start = s.pos
	}
}

func (s *replyScan) top() level {
	if s.depth == 0 {
		return level{}
	}
	return s.levels[s.depth-1]
}
