// Package compact keeps millions of values and strings in little memory, which the garbage
// collector need not scan. Numbers begin at 1, so that 0 can mean none.
package compact

// List is a list that grows by pages. A slice of hundreds of megabytes leaves a copy as garbage
// each time it grows. Pages are never copied, except the first, which grows as a slice because most
// lists are small; so elements after the first page do not move.
type List[T any] struct {
	pages [][]T
	n     uint32
}

const pageSize = 1 << 14

// Add appends v and returns its number.
func (l *List[T]) Add(v T) uint32 {
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

// At returns a pointer to the element with a number from 1 to Len.
func (l *List[T]) At(number uint32) *T { return &l.pages[(number-1)/pageSize][(number-1)%pageSize] }

// Len returns the number of elements.
func (l *List[T]) Len() uint32 { return l.n }
