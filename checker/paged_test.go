package checker

import (
	"fmt"
	"testing"
)

// TestPaged adds across a page's border and changes elements on both sides of it.
func TestPaged(t *testing.T) {
	var p paged[int]
	for i := range 2*pageSize + 1 {
		if n := p.add(i); n != i+1 {
			t.Fatalf("add number %d answers %d", i, n)
		}
	}
	*p.at(pageSize) = -1
	for i, want := range map[int]int{0: 0, pageSize - 1: pageSize - 1, pageSize: -1, 2 * pageSize: 2 * pageSize} {
		if got := *p.at(i); got != want {
			t.Errorf("element %d is %d, want %d", i, got, want)
		}
	}
}

// TestDictionaryNumbersInOrder numbers more strings than its table and its first block begin with, and an empty and a long one.
func TestDictionaryNumbersInOrder(t *testing.T) {
	var d dictionary
	words := []string{"", string(make([]byte, 2*nameBlock))}
	for i := range 50_000 {
		words = append(words, fmt.Sprint("token-", i))
	}
	for range 2 { // the second time, all are known
		for i, w := range words {
			if got := d.number(w); got != uint32(i) {
				t.Fatalf("string %d has number %d", i, got)
			}
		}
	}
	for i, w := range words {
		if d.text(uint32(i)) != w {
			t.Fatalf("number %d is another string", i)
		}
	}
}
