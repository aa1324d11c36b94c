package locktest

// wildBugs are the locks of wildwrong_test.go, each with the rule that catches it.
func wildBugs() []plantedBug {
	base := func(c Config) owned { return owned{Config: c} }
	return []plantedBug{
		caught("a subscriber is the hold", func(c Config) (any, error) { return &subscribedLock{Config: c}, nil }, "connections-cut", "it was told nothing, and b.TryLock: granted", Promises("no-lease")),
		caught("two names share a local count", newStriped(), "names-apart", "each of another name"),
		caught("no release ever works", func(c Config) (any, error) { return &packedLock{owned: base(c)}, nil }, "excludes", "a.Unlock failed (a holds"),
		caught("no release ever works, and each says that it did", func(c Config) (any, error) { return &packedLock{owned: base(c), says: true}, nil }, "excludes", "a releases): refused"),

		caught("a writer asks ten readers", byModes(tenAsked(), modeTrying), "many-readers", "the leases of the dead have ended, and one reads"),
		caught("one lost lock ends the renewal of all", newPooled(false, true), "one-of-two", "were deleted"),
		caught("an ended context is a release", bent(bentLock{releases: politeRelease}), "context-ended", "a.Unlock under a context that had ended answered nil"),
		caught("64 refusals are a grant", bent(bentLock{waits: sixtyFour}), "waits-long", "w.Lock succeeded while"),

		caught("an error is a grant", bent(bentLock{tries: errorIsGrant}), "busy-is-busy", "granted"),
		caught("a refusal strips the lease", bent(bentLock{tries: stripsLease}), "lease-ends", "is not granted the lock within ten leases"),
		caught("the loser overwrites the winner's deadline", bent(bentLock{tries: overwrites}), "lost-release", ""),
		caught("a key that is gone is an error", bent(bentLock{tries: crashesOnFree}), "released-between", "redis: nil"),

		caught("a client that starts deletes all holds", startFlushes, "excludes", "another client was started and closed"),

		caught("a waiter sleeps until its context ends", bent(bentLock{waits: sleepsOn}), "waits", "b is not granted the lock"),

		caught("a word of the script is no owner", func(c Config) (any, error) { return &reservedWord{plain{base(c)}}, nil }, "reserved-words", `called "free" holds`),
		caught("a waiter and an extend count in whole seconds", around(func(l *lock) any { return secondsLater{l} }), "odd-leases", "which had waited"),
		caught("a reader that was refused is counted", byModes(countedReaders(luaCountRefused), modeBoth), "refused-reader", "r may not read"),
		caught("a semaphore has one permit too many", func(c Config) (any, error) { return &slotLock{owned: base(c), more: true}, nil }, "permits", "want 3", Promises("permits")),
		caught("a dead holder's permit stays while others come", func(c Config) (any, error) { return &hashedPermits{base(c)}, nil }, "permits", "all permits have come back; a holds; b holds", Promises("permits")),
		caught("who waits keeps a release of its client waiting", newGated(), "two-waits", "waits for 10 others"),
		caught("a renewal aborts the release", func(c Config) (any, error) { return &abortedLock{dogLock{plain: plain{base(c)}}}, nil }, "between-requests", "half a lease late; a.Unlock answered nil", Promises("renews")),
		caught("each token leaves a key", by(littering(), nil), "clean", "seen"),
	}
}
