package repro

// recipes are the bugs of published recipes: claims that measurements refute, and defects that the
// recipes themselves state.
func recipes() []Bug {
	return []Bug{
		{Name: "exists-then-set", Source: "Redis series 13", Lock: "exists-set", Scenario: "contended", Shows: []string{"mutual-exclusion/double-grant"},
			What: "Check with EXISTS and set with SET are not atomic: two clients acquire the lock."},
		{Name: "setnx-no-expiry", Source: "Redis series 13", Lock: "setnx", Scenario: "crash-holder", Shows: []string{"progress/no-expiry"},
			What: "A client that crashes while it holds a key without a lease blocks all others for ever."},
		{Name: "setnx-expire-crash", Source: "Optimising a Redis lock; Redis series 13", Lock: "setnx-expire", Scenario: "crash-mid-acquire", Shows: []string{"progress/no-expiry"},
			What: "A client that crashes between SETNX and EXPIRE blocks all others for ever."},
		{Name: "timestamp-clock-skew", Source: "Optimising a Redis lock", Lock: "getset-timestamp", Scenario: "client-clock-skew", Shows: []string{"mutual-exclusion/clock-skew"},
			What: "Clients compare a deadline with their own clocks: one whose clock is ahead acquires a held lock."},
		{Name: "lua-nil-never-granted", Source: "Redis locks with Lua", Lock: "lua-nil", Scenario: "steady", Shows: []string{"progress/never-granted"},
			What: "A script that compares a missing key with nil never grants: in Redis a missing key is false."},
		{Name: "plain-del-mis-unlock", Source: "Redis series 13", Lock: "set-nx-ex", Scenario: "pause-holder", Shows: []string{"mutual-exclusion/mis-unlock"},
			What: "A release that deletes the key without a check ends the hold of the next client."},
		{Name: "script-mis-unlock", Source: "Optimising a Redis lock", Lock: "lua-setnx-expire", Scenario: "pause-holder", Shows: []string{"mutual-exclusion/mis-unlock"},
			What: "An atomic acquire does not help if the release is a plain DEL: it deletes another client's key."},
		{Name: "get-then-del", Source: "Redis series 13", Lock: "token-get-del", Scenario: "pause-before-release", Set: getThenDel,
			Shows: []string{"mutual-exclusion/mis-unlock", "release-safety/mis-unlock"},
			What:  "Compare and delete are two commands: if the lease ends between them, the DEL deletes another client's key."},
		{Name: "lease-overrun", Source: "Redis locks with Lua; Distributed lock by Redis; Redis series 13", Lock: "token", Scenario: "pause-holder", Shows: []string{"exclusive-use/lease-overrun"},
			What: "A client that stalls past its lease works at the same time as the next holder; the token protects only the release."},
		{Name: "failover-loss", Source: "Redis series 13", Lock: "token", Scenario: "failover", Shows: []string{"mutual-exclusion/failover-loss"},
			What: "A replica that is promoted without the key grants the lock again."},
		{Name: "restart-loss", Source: "Redis series 13", Lock: "token", Scenario: "kill-server", Shows: []string{"mutual-exclusion/restart-loss"},
			What: "A server that restarts without its data grants the lock again."},
		{Name: "server-clock-jump", Source: "Redis documentation", Lock: "token", Scenario: "clock-jump", Shows: []string{"mutual-exclusion/clock-jump"},
			What: "A jump of the server's clock ends a lease while its client still holds."},
		{Name: "owner-collision", Source: "Distributed lock by Redis", Lock: "reentrant-hash", Scenario: "owner-collision", Shows: []string{"mutual-exclusion/double-grant"},
			What: "Owner ids that are unique only within one process let two processes hold at once."},
		{Name: "stale-reentry", Source: "Redis series 13", Lock: "reentrant-local", Scenario: "pause-holder", Set: []string{"workload=nested", "faults.0.when={moment: granted, nth: 1}"},
			Shows: []string{"mutual-exclusion/stale-reentry", "exclusive-use/stale-reentry"},
			What:  "A client that counts its own entries re-enters after its lease has ended."},
		{Name: "watchdog-stalled", Source: "Distributed lock by Redis", Lock: "watchdog-timer", Scenario: "pause-holder", Shows: []string{"exclusive-use/lease-overrun"},
			What: "A watchdog stalls with its process: renewal does not help a client that stops."},
		{Name: "watchdog-renewal-gap", Source: "Redis series 13", Lock: "watchdog-bounded", Scenario: "slow-work",
			Shows: []string{"mutual-exclusion/renewal-gap", "exclusive-use/renewal-gap"},
			What:  "A background loop that sleeps a whole lease between renewals loses the lock."},
		{Name: "redisson-failover", Source: "Redis series 13", Lock: "redisson", Scenario: "failover", Shows: []string{"mutual-exclusion/failover-loss"},
			What: "Renewal and wake-ups do not help when a replica is promoted without the key."},
		{Name: "rw-owner-no-writer", Source: "Redis locks with Lua", Lock: "rw-owner", Scenario: "steady", Shows: []string{"progress/never-granted"},
			What: "A script that takes the number 0 for false never grants a writer."},
		{Name: "rw-owner-no-expiry", Source: "Redis locks with Lua", Lock: "rw-owner-fixed", Scenario: "crash-holder", Shows: []string{"progress/no-expiry"},
			What: "A client that crashes holds a read-write lock without leases for ever."},
		{Name: "rw-pair-reader-evicted", Source: "Redis read-write locks", Lock: "rw-pair", Scenario: "contended", Set: []string{"workload=read-mostly"},
			Shows: []string{"mutual-exclusion/reader-evicted"},
			What:  "All readers share one key: the first that leaves deletes it, and a writer is granted while others still read."},
		{Name: "rw-pair-mis-unlock", Source: "Redis read-write locks", Lock: "rw-pair", Scenario: "pause-holder", Shows: []string{"mutual-exclusion/mis-unlock"},
			What: "A writer that stalls past its lease deletes the next writer's key."},
		{Name: "rw-hash-overwritten", Source: "Redis read-write locks", Lock: "rw-hash", Scenario: "contended", Set: []string{"workload=read-mostly"},
			Shows: []string{"mutual-exclusion/reader-evicted", "mutual-exclusion/double-grant"},
			What:  "The second reader overwrites the mark of the first, and its release removes both."},
		{Name: "transfer-loses-money", Source: "Redis locks with Lua", Lock: "token", Scenario: "transfer", Shows: []string{"store-integrity/lease-overrun"},
			What: "A payment that takes 2.1 s under a lease of 2.0 s overwrites a remittance made in between."},
		{Name: "lottery-twice", Source: "Redis series 13", Lock: "exists-set", Scenario: "lottery", Shows: []string{"mutual-exclusion/double-grant", "store-integrity/double-grant"},
			What: "Many instances that start a draw at the same time draw more than once."},
		{Name: "tick-twice", Source: "go-co-op/gocron#841", Lock: "token", Scenario: "once-per-tick", Shows: []string{"store-integrity/own-release"},
			What: "A client that releases the lock of a tick when its job is done lets one that hears of the tick later run the job again."},
		{Name: "fence-reset", Source: "lockbench", Lock: "fenced", Scenario: "kill-server", Shows: []string{"fencing-order/restart-loss", "mutual-exclusion/restart-loss"},
			What: "A fence counter on the lock's server is lost with the server's data."},
	}
}

// getThenDel stalls the client between the GET and the DEL of its release, until another client is
// inside.
var getThenDel = []string{
	"faults.0.when={reply: release GET, nth: 2}", "faults.0.for=1.5 lease", "faults.0.until=other-entered",
}

// argument returns the five cases of the published argument about Redlock, and a claim about the
// fourth.
func argument() []Bug {
	return []Bug{
		{Name: "K1", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K1", Shows: []string{"exclusive-use/lease-overrun", "store-integrity/lease-overrun"},
			What: "A client stalls between its last check of the lock and its write; both sides agree that no lease protects against that."},
		{Name: "K2", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K2", Shows: []string{"store-integrity/lease-overrun", "exclusive-use/lease-overrun"},
			What: "A write is delayed on its way to the store and arrives when another client holds the lock."},
		{Name: "K3", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K3", Shows: []string{"mutual-exclusion/clock-jump"},
			What: "The clock of one of the three masters that granted jumps, and another client gets a second majority."},
		{Name: "K4", Source: "Kleppmann 2016", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion/restart-loss"},
			What: "One of the three masters that granted restarts without its data, and another client gets a second majority."},
		{Name: "K5", Source: "Kleppmann 2016, Sanfilippo's reply", Lock: "bug-redlock-one-look", Scenario: "K5", Control: "redlock",
			Shows: []string{"mutual-exclusion/overbelief"},
			What:  "A client stalls while it waits for the replies. Unless it reads its clock again, it accepts an expired grant; Redlock does read it again."},
		{Name: "redlock-restart", Source: "Redis series 13", Lock: "redlock", Scenario: "K4", Shows: []string{"mutual-exclusion/restart-loss"},
			What: "A master that crashes and restarts empty breaks the lock that should survive crashes."},
	}
}
