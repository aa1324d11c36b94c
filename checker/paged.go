package checker

// paged is a list of millions of values that grows by pages, because a slice of hundreds of
// megabytes leaves a copy as garbage each time it grows. Pages are never copied, except the first,
// which grows as a slice because most lists are small; so elements after the first page do not
// move. Numbers begin at 1, so that 0 can mean none.
type paged[T any] struct {
	pages [][]T
	n     uint32 // elements
}

const pageSize = 1 << 14

// add appends v and returns its number.
func (l *paged[T]) add(v T) uint32 {
	last := int(l.n / pageSize)
	if last == len(l.pages) {
		size := pageSize
		if last == 0 {
			size = 0
		}
		l.pages = append(l.pages, make([]T, 0, size))
	}
	l.pages[last] = append(l.pages[last], v)
	l.n++
	return l.n
}

// at returns a pointer to the element with a number from 1 to n.
func (l *paged[T]) at(number uint32) *T { return &l.pages[(number-1)/pageSize][(number-1)%pageSize] }
