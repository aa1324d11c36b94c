package checker

// paged is a list that grows by pages. A slice of hundreds of megabytes that grows leaves a copy behind each time, which the garbage
// collector, when the heap is that large, does not fetch for long; pages are copied never, the first apart, which grows as a slice
// does because most histories are small. Elements beyond the first page do not move.
type paged[T any] struct {
	pages [][]T
	n     int
}

const pageSize = 1 << 14

// add appends v and gives the number of elements.
func (p *paged[T]) add(v T) int {
	last := p.n / pageSize
	if last == len(p.pages) {
		size := pageSize
		if last == 0 {
			size = 0
		}
		p.pages = append(p.pages, make([]T, 0, size))
	}
	p.pages[last] = append(p.pages[last], v)
	p.n++
	return p.n
}

// at returns the element with an index from 0 to n-1, to read or to change.
func (p *paged[T]) at(i int) *T { return &p.pages[i/pageSize][i%pageSize] }
