package reentrant

import (
	"embed"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family.
func Variants() []impls.Variant {
	all := []impls.Variant{
		{
			Name: "reentrant-hash", Summary: "A hash of owner and count, changed by scripts; entering again resets the lease.",
			Source:  impls.Source{Article: "Distributed lock by Redis", Where: "re-entrant lock, acquire and release scripts"},
			Traits:  impls.Traits{Reentrant: true, LocalOwner: true},
			Scripts: []*impls.Script{acquireScript.Seconds, releaseScript},
			Claims: []impls.Claim{
				{Text: "The holder enters again and the lock is free after as many releases.", Holds: true, Command: "lockbench run --lock reentrant-hash --workload nested"},
				{Text: "A release by a client without a hold is refused.", Holds: true, Command: impls.Command("reentrant-hash", "pause-before-release")},
				{Text: "The field of the hash identifies the holder.", Holds: false, Command: impls.Command("reentrant-hash", "owner-collision")},
			},
			Expect: expectHash().With(expect.Reenters()), New: counted.open,
		},
		{
			Name: "reentrant-local", Summary: "The count is kept in the client; SET NX EX when it is 0, compare and delete when it is 0 again.",
			Source:  impls.Source{Article: "Redis series 13", Where: "Java implementation"},
			Traits:  impls.Traits{Reentrant: true, UniqueToken: true},
			Scripts: []*impls.Script{localReleaseScript},
			Claims: []impls.Claim{
				{Text: "A client that counts its holds need not ask Redis when it enters again.", Holds: false, Command: impls.Command("reentrant-local", "slow-work") + " --workload nested"},
				{Text: "Redis alone cannot keep a re-entrant lock, because it cannot tell threads apart.", Holds: false, Command: "lockbench run --lock redisson --workload nested"},
			},
			Expect: expectLocal().With(expect.Reenters()), New: openLocal(false),
		},
		{
			Name: "watchdog-timer", Summary: "reentrant-hash and a timer that restarts the lease while the owner's field is there.",
			Source:  impls.Source{Article: "Distributed lock by Redis", Where: "automatic renewal 1.0, timer and script"},
			Traits:  impls.Traits{Reentrant: true, LocalOwner: true, Extends: true, SelfRenewing: true, NotifiesLoss: true},
			Scripts: []*impls.Script{acquireScript.Seconds, releaseScript, renewScript.Seconds},
			Claims: []impls.Claim{
				{Text: "The lock stays valid until its owner releases it, however long the work takes.", Holds: true, Command: impls.Command("watchdog-timer", "slow-work")},
				{Text: "Renewal removes the concurrency problem of work that outlasts the lease.", Holds: false, Command: impls.Command("watchdog-timer", "pause-holder")},
			},
			Expect: expectTimer().With(expect.Reenters()).With(expect.Renews()), New: timed.open,
		},
		{
			Name:    "watchdog-bounded",
			Summary: "reentrant-local and a loop that renews at once, then after each whole lease, at most four times, on a flag of the object.",
			Source:  impls.Source{Article: "Redis series 13", Where: "Java implementation, persistent expiry"},
			Traits:  impls.Traits{Reentrant: true, UniqueToken: true, SelfRenewing: true},
			Scripts: []*impls.Script{localReleaseScript, localRenewScript.Seconds},
			Claims: []impls.Claim{
				{Text: "A background thread goes on extending the lease until the lock is released.", Holds: false, Command: impls.Command("watchdog-bounded", "slow-work")},
			},
			Expect: expectBounded().With(expect.Reenters()), New: openLocal(true),
		},
		{
			Name:    "redisson",
			Summary: "A hash of owner and count; a refusal returns the time left; releases are published; the lease is renewed every third of it.",
			Source:  impls.Source{Article: "Redis series 13", Where: "the distributed lock of Redisson"},
			Traits:  impls.Traits{Reentrant: true, Extends: true, SelfRenewing: true, NotifiesLoss: true, Wakeups: true, NilGrants: true},
			Scripts: []*impls.Script{redissonAcquireScript, redissonReleaseScript, redissonRenewScript},
			Claims: []impls.Claim{
				{Text: "Each step is one script, so nothing comes between checking and taking.", Holds: true, Command: impls.Command("redisson", "contended")},
				{Text: "The background thread keeps the lock for as long as the work takes.", Holds: true, Command: impls.Command("redisson", "slow-work")},
				{Text: "A primary that dies can hand the lock to a second holder.", Holds: true, Command: impls.Command("redisson", "failover")},
			},
			Expect: expectTimer().With(expect.Reenters()).With(expect.Renews()).With(expect.Wakes()).With(expect.Table{
				"owner-collision": verdicts.Safe(), // its owners are unique
				"pubsub-cut":      verdicts.Safe(), // which delays a waiter by at most the rest of the lease
			}),
			New: redisson.openUnique,
		},
	}
	for i := range all {
		all[i].Kind, all[i].Topology, all[i].New = history.Reentrant, impls.Standalone, impls.Leased(all[i].New)
	}
	return all
}
