package checker

import (
	"fmt"
	"testing"
)

// TestPaged adds elements across a page boundary and changes some on both sides.
func TestPaged(t *testing.T) {
	var l paged[uint32]
	for i := range uint32(2*pageSize + 1) {
		if n := l.add(i); n != i+1 || l.n != n {
			t.Fatalf("element %d has number %d", i, n)
		}
	}
	*l.at(pageSize + 1) = 7
	for number, want := range map[uint32]uint32{1: 0, pageSize: pageSize - 1, pageSize + 1: 7, 2*pageSize + 1: 2 * pageSize} {
		if got := *l.at(number); got != want {
			t.Errorf("element %d is %d, want %d", number, got, want)
		}
	}
}

// TestNumbered numbers more strings than the initial table and block hold, including an
// empty and a long one.
func TestNumbered(t *testing.T) {
	var d numbered
	words := []string{"", string(make([]byte, 2*nameBlock))}
	for i := range 50_000 {
		words = append(words, fmt.Sprint("token-", i))
	}
	for range 2 { // the second time, all are known
		for i, w := range words {
			if got := d.number(w); got != uint32(i)+1 {
				t.Fatalf("string %d has number %d", i, got)
			}
		}
	}
	d.table = nil
	for i, w := range words {
		if d.text(uint32(i)+1) != w {
			t.Fatalf("string %d is another", i+1)
		}
	}
}
