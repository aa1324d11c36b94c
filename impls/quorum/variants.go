package quorum

import (
	"embed"
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

//go:embed lua/*.lua
var lua embed.FS

// Variants lists the family.
func Variants() []impls.Variant {
	return []impls.Variant{
		{
			Name:    "redlock",
			Summary: "The same key and token on N independent masters at once; held by a majority within the lease, less drift; released everywhere.",
			Kind:    history.Mutex, Topology: impls.Independent,
			Source:  impls.Source{Article: "Redis series 13", Where: "RedLock; Redis documentation, the Redlock algorithm"},
			Traits:  impls.Traits{UniqueToken: true, Validity: true, LooksTwice: true, Extends: true, MultiCommand: true},
			Scripts: []*impls.Script{releaseScript, extendScript},
			Claims: []impls.Claim{
				{Text: "A minority of the masters may be down.", Holds: true, Command: impls.Command("redlock", "partition-minority")},
				{Text: "A client that stalls between its requests and the replies is not granted an expired lock.", Holds: true, Command: impls.Command("redlock", "pause-after-grant")},
				{Text: "The crash of a master no longer endangers the lock.", Holds: false, Command: "lockbench repro redlock-restart"},
				{Text: "Over one cluster it is as safe as over independent masters.", Holds: false, Command: impls.Command("redlock", "cluster-failover")},
				{Text: "Work that outlasts the validity is protected.", Holds: false, Command: impls.Command("redlock", "pause-holder")},
			},
			Expect: expectRedlock(), New: impls.Leased(open),
		},
	}
}

// expectRedlock: a fault of one node of five has no effect, unless others are missing already; the
// second clock reading refuses a grant that arrives too late; work past the validity is as unsafe
// as with any lease.
func expectRedlock() expect.Table {
	erosion := slices.Concat(expect.TwoHolders("quorum-erosion"), expect.TwoHolders("restart-loss"))
	return expect.Leased().With(expect.Table{
		"pause-after-grant": verdicts.Safe(),
		"crash-mid-acquire": verdicts.Safe(),
		// replies after a node's time-out
		"slow-network":       verdicts.Safe().Or("progress/unknown", "progress/ambiguous-reply", "progress/quorum-erosion"),
		"partition-minority": verdicts.Safe(),
		"split-vote":         verdicts.Safe(),
		"kill-server":        verdicts.Safe().Or(erosion...),
		"restart-delayed":    verdicts.Safe(),
		"pause-server":       verdicts.Safe(),
		"failover":           verdicts.NotApplicable("the masters have no replicas"),
		"clock-jump":         verdicts.Safe().Or(slices.Concat(expect.TwoHolders("clock-jump"), expect.TwoHolders("quorum-erosion"))...),
		// One clock that runs fast costs a hold a vote, which counts when others had been refused to it.
		"drift-clock": verdicts.Safe().Or(expect.TwoHolders("clock-skew")...),
		"eviction":    verdicts.Safe().Or(slices.Concat(expect.TwoHolders(expect.Evicted), expect.TwoHolders("quorum-erosion"))...),
		// A name lies on one master, whose failover is that of a lock on one server.
		"cluster-failover":   expect.Behind(),
		"cluster-slots":      verdicts.NotApplicable("runs on masters that know nothing of each other"),
		"sentinel-failover":  verdicts.NotApplicable("runs on masters, of which sentinels have one"),
		"sentinel-partition": verdicts.NotApplicable("runs on masters, of which sentinels have one"),
	})
}
