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
)

// shapes has the shape for the first byte of an element. RESP3 also has attributes, and strings and
// aggregates in parts, which no server sends.
var shapes = [256]shape{
	'+': line, '-': line, ':': line, '_': line, '#': line, ',': line, '(': line,
	'$': bulk, '!': bulk, '=': bulk,
	'*': aggregate, '~': aggregate, '>': aggregate, '%': pairs,
}

// replyScan finds the end of the reply at the start of a growing buffer. It has its own stack, so
// that a nested reply is parsed once.
type replyScan struct {
	cursor
	items int           // elements announced in the current frame
	depth int           // of the aggregates around the cursor
	left  [maxDepth]int // elements still to come, of each of them
}

// next returns the length of the reply at the start of buf; 0 if it is incomplete.
func (s *replyScan) next(buf []byte) (int, error) {
	for {
		text, next, err := s.line(buf)
		if text == nil || err != nil {
			return 0, err
		}
		var kind shape
		if len(text) > 0 {
			kind = shapes[text[0]]
		}
		elements := 0 // that follow
		switch kind {
		case unknown:
			return 0, fmt.Errorf("%w: an element begins with %.1q", errSyntax, text)
		case bulk:
			var n int
			if n, err = length(text[1:], maxFrame); err == nil && n >= 0 {
				next, err = payload(buf, next, n)
			}
		case aggregate, pairs:
			elements, err = s.count(text[1:], kind)
		}
		if err == nil && next > maxFrame {
			err = fmt.Errorf("%w: a reply of more than %d bytes", errLimit, maxFrame)
		}
		if next == 0 || err != nil {
			return 0, err
		}
		s.pos = next
		if elements > 0 {
			s.left[s.depth] = elements
			s.depth++
			continue
		}
		for s.depth > 0 {
			if s.left[s.depth-1]--; s.left[s.depth-1] > 0 {
				break
			}
			s.depth--
		}
		if s.depth == 0 {
			s.cursor, s.items = cursor{}, 0
			return next, nil
		}
	}
}

// count returns how many elements an aggregate has; of a null, 0.
func (s *replyScan) count(head []byte, kind shape) (n int, err error) {
	if n, err = length(head, maxItems); err != nil {
		return 0, err
	}
	if n = max(n, 0); kind == pairs {
		n *= 2
	}
	if s.items += n; s.items > maxItems {
		return 0, fmt.Errorf("%w: a reply of %d elements, more than %d", errLimit, s.items, maxItems)
	}
	if n > 0 && s.depth == maxDepth {
		return 0, fmt.Errorf("%w: more than %d levels", errLimit, maxDepth)
	}
	return n, nil
}
