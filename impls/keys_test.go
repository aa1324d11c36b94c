package impls_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/impls"
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
		if got := impls.Slot(row.key); got != row.slot {
			t.Errorf("slot of %q: %d, want %d", row.key, got, row.slot)
		}
	}
}

// A derived key lies in the slot of its lock, with and without a hash tag in the lock's name.
func TestDerivedKeysShareTheSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-z{]{1,8}|[a-z{]{0,3}\{[a-z]{1,4}\}[a-z{}]{0,4}`).Draw(t, "key")
		derived := impls.Derived(key, ":fence")
		if derived == key {
			t.Fatalf("the derived key of %q is the key itself", key)
		}
		if impls.Slot(derived) != impls.Slot(key) {
			t.Fatalf("%q is in slot %d, %q in %d", key, impls.Slot(key), derived, impls.Slot(derived))
		}
	})
}
