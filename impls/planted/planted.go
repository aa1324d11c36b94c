package planted

import (
	"slices"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/beyond"
	"github.com/lockbench/lockbench/impls/mutex"
	"github.com/lockbench/lockbench/impls/quorum"
	"github.com/lockbench/lockbench/impls/reentrant"
)

// Variants lists the planted bugs, by the lock they were planted in.
func Variants() []impls.Variant {
	correct := map[string]impls.Variant{}
	for _, v := range slices.Concat(mutex.Variants(), reentrant.Variants(), quorum.Variants(), beyond.Variants()) {
		correct[v.Name] = v
	}
	var out []impls.Variant
	for _, family := range []struct {
		of   string
		bugs []mutant
	}{
		{"token", tokenBugs()},
		{"fenced", fencedBugs(correct["fenced"])},
		{"fair", fairBugs(correct["fair"])},
		{"rw-lease", rwLeaseBugs()},
		{"semaphore", semaphoreBugs()},
		{"reentrant-hash", reentrantBugs()},
		{"redisson", redissonBugs(correct["redisson"])},
		{"redlock", redlockBugs()},
	} {
		for _, b := range family.bugs {
			out = append(out, b.plant(correct[family.of]))
		}
	}
	return out
}
