package checker

import (
	"fmt"
	"testing"
)

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
