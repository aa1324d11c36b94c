package adapters

import (
	"slices"

	"github.com/lockbench/lockbench/history"
	"github.com/lockbench/lockbench/impls"
	"github.com/lockbench/lockbench/impls/expect"
	"github.com/lockbench/lockbench/verdicts"
)

// Variants lists the libraries, each with its defaults and normalised.
func Variants() []impls.Variant {
	const same = " Retries at the poll interval of all other locks."
	sync := redsyncVariant()
	bsm := redislockVariant()
	waiting := as(bsm, "redislock-normalised", same, openRedislockNormalised)
	waiting.Expect = expect.Leased()
	rueidis := rueidislockVariant()
	oneKey := as(rueidis, "rueidislock-normalised", " One key instead of three.", openRueidislock(1))
	// With one key a waiter may sleep on anywhere. A goroutine that ends a failed try looks at the
	// count of failures, to which the try is about to be added; where it is the quicker of the two,
	// it takes the waiter's gate for one that is done with and deletes it, and no invalidation finds
	// the waiter any more. In the simulator the library polls.
	oneKey.Expect = expectRueidislock().LuckOnServers([]string{"progress/lost-wakeup"})
	quorum := as(sync, "redsync-quorum", " On N independent masters, retrying at the poll interval of all other locks.", openRedsyncNormalised)
	quorum.Topology, quorum.Expect = impls.Independent, expectRedsyncQuorum()
	return []impls.Variant{
		sync, as(sync, "redsync-normalised", same, openRedsyncNormalised), quorum,
		bsm, waiting,
		rueidis, oneKey,
	}
}

// as returns a variant with another name and other settings.
func as(v impls.Variant, name, summary string, open func(impls.Env) (impls.Lock, error)) impls.Variant {
	claims := slices.Clone(v.Claims)
	for i, c := range claims {
		claims[i].Command = impls.Command(name, c.Command[len(impls.Command(v.Name, "")):])
	}
	v.Name, v.Claims, v.New = name, claims, impls.Leased(open)
	v.Summary += summary
	return v
}

func redsyncVariant() impls.Variant {
	const name = "redsync"
	return impls.Variant{
		Name: name, Summary: "The library redsync, a majority of its pools within the expiry less one hundredth.",
		Kind: history.Mutex, Topology: impls.Standalone,
		Source: impls.Source{Article: "github.com/go-redsync/redsync/v4 v4.18.1", Where: "Mutex"},
		Traits: impls.Traits{UniqueToken: true, Validity: true, LooksTwice: true, Extends: true},
		Claims: []impls.Claim{
			{Text: "A mutex over one or several Redis nodes: one holder at a time within the validity.", Holds: true, Command: impls.Command(name, "contended")},
		},
		Expect: expectRedsync(), New: impls.Leased(openRedsync),
	}
}

func redislockVariant() impls.Variant {
	const name = "redislock"
	return impls.Variant{
		Name: name, Summary: "The library bsm/redislock, one script that takes the key and one that compares and deletes.",
		Kind: history.Mutex, Topology: impls.Standalone,
		Source: impls.Source{Article: "github.com/bsm/redislock v0.10.0", Where: "Client.Obtain"},
		Traits: impls.Traits{UniqueToken: true, Extends: true, Repeatable: true},
		Claims: []impls.Claim{
			{Text: "One holder at a time; a release by a client without a hold is refused.", Holds: true, Command: impls.Command(name, "pause-before-release")},
		},
		Expect: expectRedislockDefaults(), New: impls.Leased(openRedislock),
	}
}

func rueidislockVariant() impls.Variant {
	const name = "rueidislock"
	return impls.Variant{
		Name: name, Summary: "The library rueidislock, a majority of keys on one server, renewed at half the validity, waiters woken by invalidation.",
		Kind: history.Mutex, Topology: impls.Standalone,
		Source: impls.Source{Article: "github.com/redis/rueidis v1.0.79", Where: "rueidislock"},
		Traits: impls.Traits{Validity: true, SelfRenewing: true, NotifiesLoss: true, Wakeups: true, MultiCommand: true,
			Multiplexes: true, OwnRandom: true},
		Claims: []impls.Claim{
			{Text: "The returned context is cancelled at once when the majority of keys is not held any more.",
				Holds: false, Command: impls.Command(name, "pause-holder")},
		},
		Expect: expectRueidislock(), New: impls.Leased(openRueidislock(0)),
	}
}

// expectRedislockDefaults: a client that finds the lock taken does not wait, and has usually given
// up when the lock becomes free. Two holders, or a hand-over at a given moment, depend on timing.
func expectRedislockDefaults() expect.Table {
	const noQueue = "does not wait: eight clients that ask once each hand nothing over"
	const noTurn = "does not wait: whether a given client gets in twice is luck"
	const allGone = "does not wait: every client has asked for the last time before the lease of a lost grant is over"
	either := func(pairs []string) verdicts.Expectation { return verdicts.Safe().Or(pairs...) }
	return expect.Leased().With(expect.Table{
		"contended":          verdicts.NotApplicable(noQueue),
		"slow-work":          either(expect.Overrun()),
		"pause-holder":       verdicts.NotApplicable(noTurn),
		"crash-holder":       verdicts.NotApplicable(noTurn),
		"lost-reply-acquire": verdicts.NotApplicable(allGone),
		"pause-server":       either(expect.Overrun()),
		"pause-after-grant":  either(expect.Overrun()),
		"kill-server":        either(expect.TwoHolders("restart-loss")),
		"restart-delayed":    verdicts.NotApplicable("does not wait: nobody asks any more when the server is back"),
		"failover":           either(expect.TwoHolders("failover-loss")),
		"clock-jump":         either(expect.TwoHolders("clock-jump")),
		"drift-clock":        either(expect.TwoHolders("clock-skew")),
		"key-deleted":        either(expect.TwoHolders(expect.KeyDeleted)),
		"eviction":           either(expect.TwoHolders(expect.Evicted)),
		"sentinel-partition": either(expect.TwoPrimaries()),
	})
}

// expectRedsync: like redlock, redsync reads the clock again before it grants, and gives a node a
// twentieth of the expiry.
func expectRedsync() expect.Table {
	return expect.Leased().
		With(expect.Table{
			"pause-after-grant": verdicts.Safe().Or(expect.Overrun()...),
			// The release of a refused try arrives when the server goes on, and ends the grant that
			// a later try of the same token was given: without that request of its own, the holder
			// is not joined by another.
			"pause-server": verdicts.Safe().Or(slices.Concat(expect.Overrun(), expect.TwoHolders("late-request"))...),
			// The same where it has to send its script anew, on a network as slow as a container's.
			"script-flush": verdicts.Safe().Or(expect.TwoHolders("late-request")...),
			// Its tries are up to 250 ms apart: the new primary's lock may be free whenever the old
			// one's is held.
			"sentinel-partition": verdicts.Safe().Or(expect.TwoPrimaries()...),
		}).
		Luck([]string{"progress/unknown", "refusal/unknown"}, "slow-network")
}

// expectRedsyncQuorum: the loss of one node of five has no effect, unless others are missing
// already. A node has a twentieth of the expiry to answer, which some replies exceed on any
// network: the release that was given up then deletes a later vote of the same token, in any
// scenario.
func expectRedsyncQuorum() expect.Table {
	erosion := slices.Concat(expect.TwoHolders("quorum-erosion"), expect.TwoHolders("restart-loss"), expect.TwoHolders("clock-jump"),
		expect.TwoHolders(expect.Evicted))
	return expectRedsync().With(expect.Table{
		"crash-mid-acquire":  verdicts.Safe(),
		"partition-minority": verdicts.Safe(),
		"split-vote":         verdicts.Safe(),
		"kill-server":        verdicts.Safe().Or(erosion...),
		"restart-delayed":    verdicts.Safe(),
		"pause-server":       verdicts.Safe().Or(expect.Overrun()...),
		"failover":           verdicts.NotApplicable("the masters have no replicas"),
		"clock-jump":         verdicts.Safe().Or(erosion...),
		"drift-clock":        verdicts.Safe().Or(expect.TwoHolders("clock-skew")...),
		"eviction":           verdicts.Safe().Or(erosion...),
		"cluster-slots":      verdicts.NotApplicable("runs on masters that know nothing of each other"),
		"sentinel-failover":  verdicts.NotApplicable("runs on masters, of which sentinels have one"),
		"sentinel-partition": verdicts.NotApplicable("runs on masters, of which sentinels have one"),
	}).Luck(append(expect.TwoHolders("late-request"), "linearizability/late-request"))
}

// expectRueidislock: the lock is renewed during work that outlasts its validity; a stalled process
// learns of its loss when it resumes, not at once. The operator who deletes the lock's key misses
// its three keys, which have other names.
func expectRueidislock() expect.Table {
	// It promises to report a loss. A stalled client gets the report late: until then it believes
	// that it holds a lock whose lease has ended.
	late := slices.Concat(expect.Overrun(), expect.TwoHolders("overbelief"), []string{"renewal/lease-overrun", "renewal/overbelief"})
	// WithContext waits for an invalidation, whatever its try failed of. A client that tried while
	// the server was down has read no key that could be invalidated, and wakes only if another
	// client comes after it; whether one has rounds left is a matter of timing. In the simulator,
	// which has no invalidations, the library polls.
	asleep := []string{"progress/lost-wakeup"}
	return expect.Leased().
		With(expect.Table{
			"slow-work": verdicts.Safe(),
			// The client learns of its loss when it resumes, and usually leaves without writing.
			"pause-holder": verdicts.Breaks("exclusive-use/overbelief").Or("store-integrity/overbelief"),
			// A request of a try is given up after 20 ms (TryNextAfter), as long as a reply takes
			// here. A waiter whose try fails so sleeps until a key is invalidated; when all sleep,
			// no client invalidates one, though every key is free. See asleep.
			"slow-network":      verdicts.Safe().Or("progress/never-granted", "progress/unknown"),
			"crash-mid-acquire": verdicts.Safe(),
			"pause-after-grant": verdicts.Safe().Or(late...),
			"pubsub-cut":        verdicts.NotApplicable("waiters are woken by invalidations, not by a subscription"),
			"key-deleted":       verdicts.NotApplicable("keeps keys of other names"),
			"eviction":          verdicts.NotApplicable("keeps keys of other names"),
			"kill-server":       verdicts.Safe().Or(expect.TwoHolders("restart-loss")...),
			"failover":          verdicts.Safe().Or(expect.TwoHolders("failover-loss")...),
			// A waiter that was told of no invalidation, as its connection to the old primary
			// broke, sleeps on.
			"sentinel-failover": verdicts.Safe().Or(append(expect.TwoPrimaries(), "progress/lost-wakeup", "progress/unknown")...),
		}).
		Luck(late, "pause-holder", "pause-before-release", "pause-server", "blackhole-client", "clock-jump", "kill-server",
			"restart-delayed", "failover").
		LuckOnServers(asleep, "slow-network", "restart-delayed")
}

// ScriptNames maps the digest of every script that the libraries send to a name that says what it
// is for. A record without it would show digests, and would not tell a library's release from its
// renewal.
func ScriptNames() map[string]string {
	return map[string]string{
		"e950836ed1e694540c503ef9972b8de518044d3b": "redsync_release",
		"d75bb8b5bd13532ddedd17762e772346e39b321e": "redsync_extend",
		"eb0c00d98f6f33b4262419a509002884540f30be": "redislock_obtain",
		"5a22d7e8431313862816d4416b5e46dd70fc340d": "redislock_refresh",
		"9470c810040e272ee6c579d8d4331aaf6332a7b1": "redislock_release",
		"3875d208d9e377969d2022550302cc83ad17b584": "rueidislock_acquire",
		"852ba6ec6104340ced36643283c856d4698569e4": "rueidislock_extend",
		"9eb62214c9af87ae5f9a9f12bb4520281c0d2ae1": "rueidislock_release",
	}
}
