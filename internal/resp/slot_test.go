package resp_test

import (
	"testing"

	"github.com/lockbench/lockbench/internal/resp"
)

func TestSlotIsTheServersOwn(t *testing.T) {
	for _, row := range []struct {
		key  string
		slot int
	}{
		{"123456789", 12739},             // the check value of CRC16/XMODEM, 0x31C3
		{"foo", 12182},                   // CLUSTER KEYSLOT foo
		{"foo{hash_tag}", 2515},          // only the tag counts
		{"bar{hash_tag}", 2515},          // so another key with the tag is its neighbour
		{"user:{1000}.followers", 11326}, // the tag may stand in the middle
		{"a{b", 13340},                   // an open brace is no tag
		{"a{}b", 13694},                  // nor is an empty one
	} {
		if got := resp.Slot(row.key); got != row.slot {
			t.Errorf("slot of %q: %d, want %d", row.key, got, row.slot)
		}
	}
}
