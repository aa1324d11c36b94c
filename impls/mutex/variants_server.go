package mutex

import (
	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// ServerVariants lists the forms of token that need more than one old node: replicas that confirm,
// or commands that compare.
func ServerVariants() []impls.Variant {
	return []impls.Variant{
		{
			Name: "token-wait", Summary: "As token; the client then asks with WAIT whether enough replicas have the key, and deletes it if they do not.",
			Kind: history.Mutex, Topology: impls.Replicated,
			Source:  impls.Source{Article: "lockbench", Where: "beyond the sources"},
			Traits:  impls.Traits{UniqueToken: true, Validity: true, LooksTwice: true, Extends: true, MultiCommand: true, NeedsReplica: true},
			Scripts: []*impls.Script{tokenReleaseScript, tokenExtendScript},
			Claims: []impls.Claim{
				{Text: "A promoted replica has every hold that was granted.", Holds: true, Command: impls.Command("token-wait", "failover-held")},
				{Text: "A promoted replica has every hold that another replica confirmed.", Holds: false, Command: impls.Command("token-wait", "failover-behind")},
				{Text: "Confirmed replicas survive a primary that restarts without its data.", Holds: false, Command: impls.Command("token-wait", "kill-server")},
			},
			Expect: expectWait(), New: impls.Leased(waiting(false).open),
		},
		{
			Name: "token-wait-all", Summary: "As token-wait, but for every replica: whichever is promoted has the key, and while one is away nothing is granted.",
			Kind: history.Mutex, Topology: impls.Replicated,
			Source:  impls.Source{Article: "lockbench", Where: "beyond the sources"},
			Traits:  impls.Traits{UniqueToken: true, Validity: true, LooksTwice: true, Extends: true, MultiCommand: true, NeedsReplica: true},
			Scripts: []*impls.Script{tokenReleaseScript, tokenExtendScript},
			Claims: []impls.Claim{
				{Text: "No replica can be promoted that lacks a hold.", Holds: true, Command: impls.Command("token-wait-all", "failover-behind")},
			},
			Expect: expectWait().With(expect.Table{"failover-behind": verdicts.Safe()}),
			New:    impls.Leased(waiting(true).open),
		},
		{
			Name: "token-native", Summary: "As token; release and extend are compare-and-delete and compare-and-set commands of the server, without scripts.",
			Kind: history.Mutex, Topology: impls.Standalone,
			Source: impls.Source{Article: "lockbench", Where: "beyond the sources: Redis 8.4 DELEX and SET IFEQ, Valkey 9.0 DELIFEQ"},
			Traits: impls.Traits{UniqueToken: true, Validity: true, Extends: true},
			Claims: []impls.Claim{
				{Text: "Compare-and-delete needs no script where the server has the command.", Holds: true, Command: impls.Command("token-native", "pause-before-release")},
			},
			Expect: expect.Leased().With(expect.Extends()).With(expect.Table{"script-flush": verdicts.NotApplicable("sends no script")}),
			New:    impls.Leased(openNative),
		},
	}
}

// expectWait: a replica that confirmed has the key; without a replica nothing is confirmed and no
// acquire is granted.
func expectWait() expect.Table {
	return expect.Leased().
		With(expect.Table{
			"crash-mid-acquire": verdicts.Safe(),
			// The replica confirms nothing from the start, so no acquire is granted and nothing is
			// measured.
			"failover": verdicts.NotApplicable("grants nothing while the replica confirms nothing"),
			// One replica confirms, and the other is promoted.
			"failover-behind": expect.Behind(),
			// The replica that is promoted confirms nothing from when it falls behind, and nothing
			// is granted.
			"cluster-failover": verdicts.Safe(),
			// The new primary has no replica: the holder keeps its key, and no later acquire is
			// granted, nor can be.
			"failover-held": verdicts.Safe(),
			// WAIT is sent after the stall, when the key is gone or the deadline is over, and the
			// grant is undone.
			"pause-after-grant": verdicts.Safe().Or(expect.Overrun()...),
			"cluster-slots":     verdicts.NotApplicable("needs a primary and its replica"),
			// A primary without its replicas grants nothing.
			"sentinel-partition": verdicts.Safe(),
		}).
		Luck([]string{"progress/restart-loss", "progress/unknown", "progress/never-granted"}, "kill-server", "restart-delayed", "pause-server")
}
