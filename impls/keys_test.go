package impls_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/internal/resp"
)

// A derived key lies in the slot of its lock, with and without a hash tag in the lock's name.
func TestDerivedKeysShareTheSlot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[a-z{]{1,8}|[a-z{]{0,3}\{[a-z]{1,4}\}[a-z{}]{0,4}`).Draw(t, "key")
		derived := impls.Derived(key, ":fence")
		if derived == key {
			t.Fatalf("the derived key of %q is the key itself", key)
		}
		if resp.Slot(derived) != resp.Slot(key) {
			t.Fatalf("%q is in slot %d, %q in %d", key, resp.Slot(key), derived, resp.Slot(derived))
		}
	})
}
