package locktest

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// plantedBug is a lock with a bug, the rule that catches it, and what its message says.
type plantedBug struct {
	bug        string
	make       factory
	rule, says string
	explored   string // what a search of schedules calls it; "" if it does not look there
	options    []Option
}

func caught(bug string, make factory, rule, says string, options ...Option) plantedBug {
	return plantedBug{bug, make, rule, says, "", options}
}

// explored is caught for a bug that a search of schedules finds as well, and calls so. A search sees
// what becomes of a bug between clients: it looks at no names but one, at no odd leases, and at no
// reply that a client gives without harm.
func explored(as, bug string, make factory, rule, says string, options ...Option) plantedBug {
	return plantedBug{bug, make, rule, says, as, options}
}

func bugs() []plantedBug {
	return []plantedBug{
		caught("names are one under CRC-32", newTestLock(func(l *lock) { l.name = crc }), "names-apart", "CRC-32"),
		caught("names are one under FNV-1a", newTestLock(func(l *lock) { l.name = fnv1a }), "names-apart", "FNV-1a"),
		caught("names share 16,384 places", newTestLock(func(l *lock) { l.name = places }), "names-apart", "held"),
		caught("names are cut", newTestLock(func(l *lock) { l.name = func(s string) string { return s[:min(len(s), 64)] } }), "names-apart", "2,000 bytes"),
		caught("1,500 ms become a second", newTestLock(func(l *lock) { l.truncate = true }), "odd-leases", "lease of 1.4s, and the server keeps it for 1s"),
		caught("a failed release says nil", newTestLock(func(l *lock) { l.swallow, l.digestOnly = true, true }), "release-frees", "the server had forgotten its scripts; a.Unlock answered nil"),
		caught("a release at the end of the lease is left to the lease", newTestLock(func(l *lock) { l.leavesLate = true }), "release-frees", "nine tenths of its lease had passed; a.Unlock answered nil"),

		caught("a release of a lost hold asks for ever", newTestLock(func(l *lock) { l.stubborn = true }), "loss-returns", "did not return"),
		caught("a cancelled acquire leaves its key", newTestLock(func(l *lock) { l.abandon = true }), "cancelled-request", "was cancelled when the server had granted"),
		caught("the watchdog is armed after it was stopped", newTestLock(func(l *lock) { l.renew, l.armLate = true, true }), "released-at-once", "a"),
		caught("the watchdog renews whatever key is there", newTestLock(func(l *lock) { l.renew, l.blindRenew = true, true }), "renews-own", "next"),
		caught("the watchdog goes on after a loss", newTestLock(func(l *lock) { l.renew, l.keepsRenewing = true, true }), "renews-own", "a sent"),
		explored("release-safety/mis-unlock", "the watchdog makes the lock anew", newTestLock(func(l *lock) { l.renew, l.resurrects = true, true }), "renews-own", ""),
		caught("renewals slip with slow replies", newTestLock(func(l *lock) { l.renew, l.slowTick = true, true }), "slow-renewals", "slow replies"),
		caught("an acquire takes 20 requests", newTestLock(func(l *lock) { l.chatty = 20 }), "bounded-requests", "took 2"),
		caught("a waiter spins", newWaiting(func(l *lock) { l.spins = true }), "bounded-requests", "without time passing"),
		caught("a waiter does not hear its context", newWaiting(func(l *lock) { l.deaf = true }), "deadline", "b.Lock"),
		explored("mutual-exclusion/stale-reentry", "a token is kept after the release", newTestLock(func(l *lock) { l.keepsToken = true }), "reuse", "TryLock succeeded while"),
		caught("a lost reply is busy", newTestLock(func(l *lock) { l.busyOnError = true }), "lost-grant", "refused"),

		explored("progress/ambiguous-reply", "a request goes on behind its context, and what it gets is renewed", newTestLock(func(l *lock) { l.renew, l.eternal = true, true }), "cancelled-request", "is not granted the lock within ten leases"),
		explored("progress/orphan", "the watchdog goes on when the release failed", newTestLock(func(l *lock) { l.renew, l.outlives = true, true }), "release-frees", "1 request was lost"),
		caught("the token is the time of day", newTestLock(func(l *lock) { l.clockToken = true }), "loss-returns", "deleted by a.Unlock"),
		caught("a release uses the context of the acquire", newTestLock(func(l *lock) { l.endedCtx = true }), "context-ended", "context canceled"),
		explored("progress/no-expiry", "the lease comes in a second command", newTestLock(func(l *lock) { l.expireApart = true }), "died-on-the-way", "request no. 1"),
		caught("the watchdog renews when the lease is over", newTestLock(func(l *lock) { l.renew, l.wholeLease = true, true }), "renews", "b.TryLock succeeded", Promises("renews")),
		explored("renewal/renewal-gap", "the watchdog ends at the first error", newTestLock(func(l *lock) { l.renew, l.frail = true, true }), "renewal-fails", "one reply to a's watchdog was lost"),
		caught("sends seconds with a fraction", newTestLock(func(l *lock) { l.wholeSeconds = true }), "odd-leases", "not an integer"),
		caught("a second Unlock panics", newTestLock(func(l *lock) { l.twicePanics = true }), "release-once", "unlock of an unlocked lock"),
		caught("a waiter that gave up goes on asking", newWaiting(func(*lock) {}, func(w *waitingLock) { w.goesOn = true }), "deadline", "b"),
		explored("mutual-exclusion/overbelief", "the validity is counted from the reply", newTimed(func(l *timedLock) { l.fromReply = true }), "valid-until", "replies took 250ms, a.TryLock returned, and a.ValidUntil is 1s after that"),
		explored("release-safety/mis-unlock", "an extend renews whatever key is there", newTimed(func(l *timedLock) { l.plain = true }), "late-extend", "granted"),
		explored("progress/orphan", "an extend adds a lease", newTimed(func(l *timedLock) { l.adds = true }), "extend-restarts", "b.TryLock failed"),
		caught("fences are counted before the grant", func(c Config) (any, error) { return &twoStep{plain: plain{owned{Config: c}}, first: true}, nil }, "fences-race", "after another was granted fence"),
		explored("fencing-order/count-expired", "the count of fences ends with the lease", by(numbered(`redis.call('pexpire', KEYS[2], ARGV[2])`), counted), "fences-grow", "fence 1 after fence"),
		caught("the watchdog of the first hold is the only one", func(c Config) (any, error) { return &nestedLock{Config: c, renew: true, oneArm: true}, nil }, "renewed-again", "hold no. 2", Promises("reentrant", "renews")),
		caught("an inner release stops the watchdog", func(c Config) (any, error) { return &nestedLock{Config: c, renew: true, halfStop: true}, nil }, "renewed-again", "a has worked for 6 quarters", Promises("reentrant", "renews")),
		explored("progress/orphan", "each entry starts a watchdog", func(c Config) (any, error) { return &nestedLock{Config: c, renew: true, perEntry: true}, nil }, "one-watchdog", "three times", Promises("reentrant", "renews")),

		caught("an RUnlock frees the write side", byModes(readersWriters(blind), modeWaiting), "shared-release", "deleted by"),
		explored("mutual-exclusion/double-grant", "an upgrade takes the last reader away", byModes(readersWriters(upgrades), modeWaiting), "readers-share", ""),
		caught("a reader that comes prolongs all", byModes(readersWriters(prolongs), modeWaiting), "dead-reader", "w.TryLock failed"),
		caught("a downgrade wakes nobody", byModes(readersWriters(sleeping, unwoken), modeWaiting), "downgrade", "r must be woken"),
		explored("mutual-exclusion/quorum-erosion", "half of the nodes are a quorum", func(c Config) (any, error) { return &quorumLock{Config: c, half: true}, nil }, "quorum", "", Nodes(3)),
		explored("progress/orphan", "a failed attempt on several nodes stays", func(c Config) (any, error) { return &quorumLock{Config: c, keeps: true}, nil }, "quorum", "is left on", Nodes(3)),
		caught("an attempt whose reply is lost stays on its node", func(c Config) (any, error) { return &quorumLock{Config: c, forgets: true}, nil }, "quorum", "is left on", Nodes(3)),
		caught("who died in the queue stays there", by(queued(``), inLine), "dead-waiter", "is not granted the lock"),
		caught("who gave up stays in the queue", by(staying(queued(luaClean)), inLine), "deadline", "b has given up"),
		caught("wake-ups that nobody takes stay", func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}, orphans: true}, nil }, "no-stale-signals", "had given up before"),
		explored("progress/lost-wakeup", "wakes before it is free", func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}, early: true}, nil }, "woken", "hand-over", Promises("wakes")),
		explored("progress/lost-wakeup", "wakes nobody", func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}, mute: true}, nil }, "woken", "hand-over", Promises("wakes")),
		caught("no connection is used twice", func(c Config) (any, error) { return &wireLock{Config: c, hoards: true}, nil }, "bounded-requests", "connections"),
		caught("a waiter subscribes when it has asked, and does not ask again", func(c Config) (any, error) { return &channelLock{owned: owned{Config: c}, late: true}, nil }, "released-between", "was granted the lock"),

		explored("mutual-exclusion/double-grant", "an acquire without an answer deletes the key", newTestLock(func(l *lock) { l.undoesBlind = true }), "unanswered", "deleted by"),
		caught("the lease is sent in 32 bits", newTestLock(func(l *lock) { l.narrowLease = true }), "odd-leases", "960h"),
		explored("mutual-exclusion/own-release", "a second entry is counted as the first", func(c Config) (any, error) { return &nestedLock{Config: c, forgets: true}, nil }, "counts-entries", "while a held the lock", Promises("reentrant")),
		caught("who does not read is counted off", byModes(countedReaders(luaCountAll), modeWaiting), "shared-release", "while a held the lock"),
		caught("the fence has 32 bits", by(narrow(numbered(``)), counted), "fences-grow", "after fence"),
		caught("the list of wake-ups has a name for a lock", func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}, flat: true}, nil }, "names-apart", "job:wake"),
		explored("release-safety/mis-unlock", "releases by a pattern", func(c Config) (any, error) { return &patternLock{plain: plain{owned{Config: c}}}, nil }, "names-apart", "has released"),
		// no cause has the name of a request that fails; the story says that it did
		explored("progress/unknown", "NOSCRIPT is a refusal", func(c Config) (any, error) { return &digestLock{plain: plain{owned{Config: c}}}, nil }, "scripts-forgotten", "refused"),
		caught("an extend that was refused counts", newTimed(func(l *timedLock) { l.hopes = true }), "late-extend", "ValidUntil"),
		caught("a refusal replaces the token", newTestLock(func(l *lock) { l.forgetful = true }), "asked-again", "a asked again and was refused; b is refused): release job"),
		explored("release-safety/mis-unlock", "a release compares and then deletes", newTestLock(func(l *lock) { l.getThenDel = true }), "between-requests", "b's key job was deleted by a.Unlock (DEL job)"),
		explored("release-safety/mis-unlock", "an extend compares and then extends", newTimed(func(l *timedLock) { l.apart = true }), "between-requests", "a.Extend came a lease late"),
		caught("the watchdog compares and then extends", newTestLock(func(l *lock) { l.renew, l.renewsApart = true, true }), "between-requests", "a's watchdog came a lease late"),
		explored("mutual-exclusion/double-grant", "a key without a lease is taken for none", newTestLock(func(l *lock) { l.readsLease = true }), "between-requests", "and a was granted it, too"),
		caught("the last hundredth of a lease is nobody's", newTestLock(func(l *lock) { l.steals = true }), "lease-lasts", "all of a's lease has passed but 2ms"),
		caught("TryLock waits", newTestLock(func(l *lock) { l.patient = true }), "try-returns", "refused after"),
		caught("a waiter that backs off does not hear its context", newWaiting(func(*lock) {}, func(w *waitingLock) { w.sleeps = true }), "deadline", "b's acquire ended"),
		caught("a goroutine stays when a request failed", newTestLock(func(l *lock) { l.leaksOnError = true }), "nothing-running", "locks_test.go"),
		caught("an error of the server is a refusal", newTestLock(func(l *lock) { l.replyIsBusy = true }), "busy-is-busy", "OOM command not allowed"),
		caught("an error of the server is a release", newTestLock(func(l *lock) { l.replyIsFree = true }), "release-frees", "the server answered with an error"),
		caught("a request does not hear its context", newTestLock(func(l *lock) { l.deafRequest = true }), "no-answer", "a.TryLock ended after"),
		caught("a time-out is a grant", newTestLock(func(l *lock) { l.hopeful = true }), "no-answer", "a.TryLock answered nil"),
		explored("release-safety/mis-unlock", "a script that is not known is replaced by DEL", newTestLock(func(l *lock) { l.fallsBack = true }), "late-release", "the server had forgotten its scripts"),
		explored("release-safety/mis-unlock", "a release that failed is repeated by DEL", newTestLock(func(l *lock) { l.insistsOnDel = true }), "late-release", "1 request was lost"),
		caught("names are trimmed", newTestLock(func(l *lock) { l.name = strings.TrimSpace }), "names-apart", "trimming"),
		caught("names keep their characters of ASCII only", newTestLock(func(l *lock) { l.name = asciiOnly }), "names-apart", "the characters of ASCII only"),
		caught("names are made slugs", newTestLock(func(l *lock) { l.name = slug }), "names-apart", "replaced"),
		caught("names are made labels of DNS", newTestLock(func(l *lock) { l.name = dashes }), "names-apart", "replaced"),
		caught("names lose their dots", newTestLock(func(l *lock) { l.name = undotted }), "names-apart", "left out"),
		caught("names are cleaned as paths", newTestLock(func(l *lock) { l.name = path.Clean }), "names-apart", "path"),
		caught("names end at a zero byte", newTestLock(func(l *lock) { l.name = upTo("\x00") }), "names-apart", "zero byte"),
		caught("a release of one lock stops the renewal of all", newPooled(true, false), "one-of-two", "quarters of a lease later other.TryLock"),
		caught("a waiter doubles its pauses without end", newWaiting(func(*lock) {}, func(w *waitingLock) { w.tires = true }), "waits-long", "was kept out"),
		caught("a writer that was refused leaves a sign", byModes(readersWriters(signs), modeWaiting), "refused-writer", "w is refused; a lease has passed"),

		explored("mutual-exclusion/double-grant", "TryRLock grants always", byModes(readersWriters(), modeReckless), "readers-share", "a.TryRLock succeeded while w held the lock"),

		caught("a long lease in a value is too long", by(stamped(`if lease > 3600000 then lease = lease + 3600000 end`, luaSweep), nil), "odd-leases", "next.TryLock 1h39m0.002s later: refused"),
		explored("mutual-exclusion/own-release", "an acquire without an answer is taken back when the next is granted", around(func(l *lock) any { l.ownerToken = true; return &tidyLock{lock: l, later: true} }), "second-attempt", "deleted by a in the background"),
		caught("all holds report their loss on one channel", func(c Config) (any, error) { return &dogLock{plain: plain{owned{Config: c}}, once: true}, nil }, "renews-own", "hold no. 2"),
		caught("a reader's extend does nothing", byModes(readersWriters(), modePretending), "reader-lasts", "extended"),
		caught("a reader that leaves takes others along by their names", byModes(readersWriters(byOwner), modeWaiting), "reader-leaves-alone", "ab reads; a releases"),
		caught("a name is a pattern", func(c Config) (any, error) { return &patternLock{plain: plain{owned{Config: c}}, whole: true}, nil }, "names-apart", "a pattern of keys"),
		caught("readers that come later shorten the leases of others", byModes(readersWriters(shortens), modeWaiting), "reader-lasts", "of twice the lease"),
		caught("who waits no longer ends all waits of its client", newListening(true), "two-waits", "waits for two locks"),
		caught("a second has room for a thousand fences", by(timely(), counted), "fences-grow", "a second has passed"),

		caught("the count of fences ends after a day", by(numbered(`redis.call('expire', KEYS[2], 86400)`), counted), "fences-grow", "every key that had an end is gone: fence 1"),
		explored("mutual-exclusion/overbelief", "a loss is told after six failures", func(c Config) (any, error) { return &dogLock{plain: plain{owned{Config: c}}, patience: 6}, nil }, "loss-in-time", "only", Promises("renews")),
		explored("mutual-exclusion/stale-reentry", "a holder enters again after its lease", around(func(l *lock) any { return &selfCountLock{lock: l, trusts: true} }), "late-entry", "a.TryLock succeeded while b held", Promises("reentrant")),
		caught("a writer that leaves late clears the readers", byModes(readersWriters(clears), modeWaiting), "late-release", "{job}:r was deleted by a.Unlock"),
		caught("all readers have the lease of the first", byModes(countedReaders(luaCountFirst), modeWaiting), "reader-lasts", "9/10 of a lease have passed"),
		caught("a waiter that gave up takes a wake-up along", func(c Config) (any, error) { return &wakeLock{owned: owned{Config: c}, deaf: true}, nil }, "woken",
			"b waits, and gives up; a releases", Promises("wakes")), // the server wakes who has waited longest
		caught("a downgrade leaves a gap", byModes(readersWriters(gap), modeWaiting), "downgrade", "r does not wait"),
	}
}

// TestBugsAreCaught: each bug by a rule, whose message says what happened.
func TestBugsAreCaught(t *testing.T) {
	for _, row := range slices.Concat(bugs(), outsideBugs(), wildBugs()) {
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			res := checked(t, row.make, virtual, append(row.options, Only(row.rule))...)[row.rule]
			if text := strings.Join(res.Problems, "\n"); len(res.Problems) == 0 || !strings.Contains(text, row.says) {
				t.Errorf("%s: %+v, want a problem that says %q", row.rule, res, row.says)
			} else {
				t.Log(text)
			}
		})
	}
}

// TestBugsAreExplored: a search of 3,000 schedules at most finds each that says so, with that cause.
func TestBugsAreExplored(t *testing.T) {
	if testing.Short() {
		t.Skip("searches the schedules of some thirty locks")
	}
	for _, row := range bugs() {
		if row.explored == "" {
			continue
		}
		t.Run(row.bug, func(t *testing.T) {
			t.Parallel()
			switch r := searched(t, row.make, 3000, row.options...); {
			case r.First == nil:
				t.Errorf("nothing is found in %d schedules, want %s", r.Schedules, row.explored)
			case string(r.First.Property)+"/"+string(r.First.Cause) != row.explored:
				t.Errorf("found %s/%s, want %s:\n%s", r.First.Property, r.First.Cause, row.explored, strings.Join(r.First.Steps, "\n"))
			}
		})
	}
}
