package checker

// paged is a list that grows by pages. A slice of hundreds of megabytes leaves a copy behind each time it grows, and with so large a heap the garbage
// collector takes long to free it. Pages are never copied, apart from the first, which grows as a slice because most histories are small. Elements
// beyond the first page do not move.
type paged[T any] struct {
	pages [][]T
	n     int
}

const pageSize = 1 << 14

// add appends v and returns the number of elements.
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

// at returns a pointer to the element with an index from 0 to n-1.
func (p *paged[T]) at(i int) *T { return &p.pages[i/pageSize][i%pageSize] }
