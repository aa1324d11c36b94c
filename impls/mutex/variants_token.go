package mutex

import (
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// tokens lists the locks whose release compares a token.
func tokens() []impls.Variant {
	return []impls.Variant{
		{
			Name: "token-get-del", Summary: "SET NX EX with a unique token; release reads the key, compares in the client and deletes.",
			Source: impls.Source{Article: "Redis series 13", Where: "work past the lease deletes by mistake"},
			Traits: impls.Traits{UniqueToken: true},
			Claims: []impls.Claim{
				{Text: "A value of one's own, compared before deleting, prevents deleting another's lock by mistake.", Holds: false, Command: impls.Command("token-get-del", "pause-before-release")},
				{Text: "Comparing and deleting in two commands is not atomic.", Holds: true, Command: impls.Command("token-get-del", "pause-before-release")},
			},
			Expect: expectTokenGetDel(), New: tokenGetDel.open,
		},
		{
			Name: "token", Summary: "SET NX PX with a unique token; a script compares and deletes.",
			Source:  impls.Source{Article: "Redis documentation", Where: "the lock pattern on one instance; Redis locks with Lua, Distributed lock by Redis and Redis series 13, release by script"},
			Traits:  impls.Traits{UniqueToken: true, Validity: true, Extends: true},
			Scripts: []*impls.Script{tokenReleaseScript, tokenExtendScript},
			Claims: []impls.Claim{
				{Text: "Only the client that set the key deletes it, in one atomic step.", Holds: true, Command: impls.Command("token", "pause-before-release")},
				{Text: "Work that outlasts the lease races with the next holder: data may be damaged.", Holds: true, Command: impls.Command("token", "pause-holder")},
				{Text: "A primary that dies before its replica has the key lets a second client in.", Holds: true, Command: impls.Command("token", "failover")},
			},
			Expect: expect.Leased().With(expect.Extends()).With(expect.Table{
				// A promoted replica may have the key; otherwise it is like a failover that loses it.
				"failover-behind": expect.Behind(), "cluster-failover": expect.Behind(),
				"failover-held": verdicts.Safe().Or("mutual-exclusion/failover-loss").Or(expect.Damage("failover-loss")...),
				// It does not report its own grant as busy after a lost reply, keeps a state for each
				// name, and has a token for each hold.
				"lost-reply-alone": verdicts.Safe(), "many-names": verdicts.Safe(), "restart-same-owner": verdicts.Safe(),
			}),
			New: token.open,
		},
		{
			Name:    "token-session",
			Summary: "SETNX and EXPIRE by script with one value per lock object and a local flag; release drops the flag, then compares and deletes.",
			Source:  impls.Source{Article: "Optimising a Redis lock", Where: "the release hole, last listing"},
			Scripts: []*impls.Script{setnxExpireScript.Seconds, sessionReleaseScript},
			Claims: []impls.Claim{
				{Text: "A value that is unique to the lock object keeps a late client from deleting another's lock.", Holds: true, Command: impls.Command("token-session", "pause-before-release")},
				{Text: "Whether the lock was really released can be ignored.", Holds: false, Command: impls.Command("token-session", "lost-request")},
			},
			Expect: expect.Leased(), New: openSession,
		},
	}
}
