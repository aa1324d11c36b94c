package locktest_test

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/catalogue"
	"github.com/lockbench/lockbench/locktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options are how the kit is told of a catalogue variant.
func options(v impls.Variant) []locktest.Option {
	nodes := 1
	if v.Topology == impls.Independent {
		nodes = 5
	}
	replicas := 0
	if v.Topology == impls.Replicated {
		replicas = 1
	}
	return []locktest.Option{locktest.Can(v.Traits), locktest.Kind(v.Kind), locktest.Nodes(nodes), locktest.Replicas(replicas)}
}

// some is all of them, and under the race detector, which makes everything ten times as slow, one for each way in which goroutines
// meet: a plain mutex, a watchdog with wake-ups, a quorum, a queue, and a library.
func some(all []impls.Variant) []impls.Variant {
	if !raceDetector {
		return all
	}
	return slices.DeleteFunc(all, func(v impls.Variant) bool {
		return !slices.Contains([]string{"token", "redisson", "redlock", "fair", "rueidislock"}, v.Name)
	})
}

func TestEveryCatalogueLock(t *testing.T) {
	for _, v := range some(catalogue.Locks()) {
		if v.Topology == impls.Replicated {
			continue // miniredis has no replicas
		}
		t.Run(v.Name, func(t *testing.T) {
			locktest.Run(t, v.New, append(options(v), locktest.Breaks(byDesign[v.Name]...), locktest.MayBreak(byChance[v.Name]...))...)
		})
	}
}

// TestQuorumMasksOfThreeNodes asks of three nodes what TestEveryCatalogueLock asks of five: a majority that is counted for
// five alone is seen here.
func TestQuorumMasksOfThreeNodes(t *testing.T) {
	for _, v := range some(catalogue.Locks()) {
		if v.Topology != impls.Independent {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			locktest.Run(t, v.New, locktest.Can(v.Traits), locktest.Nodes(3), locktest.Only("quorum-masks"),
				locktest.Breaks(byDesign[v.Name]...), locktest.MayBreak(byChance[v.Name]...))
		})
	}
}

// TestEveryCatalogueLockOnRedis runs the same rules on redis-server, in real time.
func TestEveryCatalogueLockOnRedis(t *testing.T) {
	for _, v := range some(catalogue.Locks()) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			kit := append(options(v), locktest.OnRedisServer(), locktest.OnlyReal())
			if v.Topology == impls.Replicated { // the other rules have no patience for a replica that reports once a second
				kit = append(kit, locktest.Only("replica-missing"))
			}
			locktest.Run(t, v.New, append(kit, locktest.Breaks(byDesign[v.Name]...), locktest.MayBreak(byChance[v.Name]...))...)
		})
	}
}

// byDesign are the rules that a variant breaks as its source prints it, each of which the kit must see broken.
var byDesign = map[string][]string{
	// Nothing is compared at the release, so that a late or repeated one ends the next client's hold.
	"lua-setnx-expire": {"late-release", "lost-release"},
	"set-nx-ex":        {"late-release", "lost-release"},
	// And the lease comes in a second command, which may never be sent; getset-timestamp frees such a key by the
	// deadline in its value, a second later.
	"setnx-expire":     {"late-release", "lost-release", "died-on-the-way", "lost-grant"},
	"getset-timestamp": {"late-release", "lost-release", "died-on-the-way", "lost-grant"},
	// The DEL is never sent when the GET before it has lost its reply.
	"token-get-del": {"lost-release"},
	// The pattern does not read the clock when the reply is there.
	"token":        {"slow-reply"},
	"token-native": {"slow-reply"},
	// What the release script answers is dropped.
	"token-session":    {"late-release-told"},
	"reentrant-local":  {"late-release-told"},
	"watchdog-bounded": {"late-release-told", "renews", "renewal-fails"},
	// No writer is ever granted the lock.
	"lua-nil":  append(neverGranted(), "dead-waiter", "died-on-the-way", "keys-deleted", "late-release", "late-release-told", "lease-ends", "lease-lasts", "lost-grant", "skewed-clock"),
	"rw-owner": append(neverGranted(), "readers-share", "readers-wake"),
	// The names of its keys are made inside the script.
	"rw-owner-fixed": {"one-slot"},
	// One mark for all readers, two keys without a tag, DEL as a release.
	"rw-pair": {"late-release", "lost-release", "one-slot", "reader-leaves-alone", "readers-share"},
	// One mark for all readers, the clients' clocks, and a release whose script answers nothing. In virtual time a and b
	// hold in the same millisecond, which makes their marks the same. A lease of zero is the article's own.
	"rw-hash": {"late-release-told", "lease-is-sane", "lost-release", "reader-leaves-alone", "skewed-clock", "slow-reply"},
	// By default it asks once and does not wait.
	"redislock": {"clean", "dead-waiter", "deadline", "keys-deleted", "lease-ends", "no-lost-update", "waits"},
	// Three keys without a tag by default; losing a hold is told by the context and not by the release; a lost
	// reply is "held by others".
	"rueidislock":            {"late-release-told", "lost-grant", "one-slot"},
	"rueidislock-normalised": {"late-release-told", "lost-grant"},
}

// byChance are rules that a variant breaks by a race, or by a random or fixed waiting time of a library that may or may not
// fit into the rule's limit.
var byChance = map[string][]string{
	"redsync":                {"died-on-the-way", "lost-grant", "dead-waiter", "lease-ends", "keys-deleted", "deadline"}, // polls every 50 to 250 ms
	"redislock":              {"died-on-the-way", "lost-grant"},
	"rueidislock":            {"died-on-the-way", "valid-until", "dead-waiter", "lease-ends", "keys-deleted", "slow-reply", "scripts-forgotten"}, // a lease of its own; three keys
	"rueidislock-normalised": {"died-on-the-way", "valid-until"},
	"exists-set":             {"no-lost-update", "one-wins"}, // between EXISTS and SET
}

// neverGranted are the rules that ask for a grant, of every lock.
func neverGranted() []string {
	return []string{"busy-is-busy", "clean", "deadline", "excludes", "lost-release", "no-lost-update", "one-slot", "one-wins",
		"release-needs-a-hold", "release-once", "scripts-forgotten", "waits"}
}
