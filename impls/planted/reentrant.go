package planted

import "github.com/lockbench/lockbench/impls"

func reentrantBugs() []mutant {
	return []mutant{
		{
			name: "inner-release", report: "redisson/redisson#4178",
			in: "nested", shows: "mutual-exclusion/own-release",
			bug: "The first release frees the lock, whatever the count.",
			edits: []edit{{"reentrant_release.lua", "redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0",
				"redis.call('hincrby', KEYS[1], ARGV[1], -1) >= 0"}},
		},
	}
}

func redissonBugs(of impls.Variant) []mutant {
	renew := find(of.Scripts, "redisson_renew.lua")
	const mine = "redis.call('hexists', KEYS[1], ARGV[1]) == 1"
	return []mutant{
		{
			name: "refuses-owner", report: "redisson/redisson#758",
			in: "nested", shows: "reentrancy/never-granted",
			bug:   "The owner is refused like anybody else, and waits for itself.",
			edits: []edit{{"redisson_acquire.lua", " or " + mine, ""}},
		},
		{
			name: "renews-anothers", report: "redisson/redisson#597",
			in: "pause-holder", shows: "mutual-exclusion/mis-unlock",
			bug:   "The watchdog renews the key whoever holds it.",
			edits: []edit{{"redisson_renew.lua", mine, "redis.call('exists', KEYS[1]) == 1"}},
		},
		{
			name: "loss-ignored", report: "linagora/cozy-stack#4911",
			in: "pause-holder", shows: "mutual-exclusion/overbelief",
			bug:   "A renewal that found the hold gone counts as done: the loss is never reported.",
			edits: []edit{{"redisson_renew.lua", "return 0", "return 1"}},
		},
		{
			name: "resurrects", report: "swarthy/redis-semaphore#175",
			// its client writes on the strength of the hold that the renewal made again
			in: "late-renewal", shows: "store-integrity/resurrection",
			bug: "A renewal that finds the hold gone takes the lock again without a word.",
			edits: []edit{{"redisson_renew.lua", "return 0",
				"if redis.call('exists', KEYS[1]) == 0 then\n  redis.call('hset', KEYS[1], ARGV[1], 1)\n  redis.call('pexpire', KEYS[1], ARGV[2])\n  return 1\nend\nreturn 0"}},
		},
		{
			name: "never-renews", report: "smilecc/node-redisson#8",
			in: "slow-work", shows: "exclusive-use/renewal-gap",
			bug:   "The watchdog says that it renewed and does not.",
			edits: []edit{{"redisson_renew.lua", "redis.call('pexpire', KEYS[1], ARGV[2])", ""}},
		},
		{
			name: "outlives-release", report: "redisson/redisson#1966",
			in: "lost-release", shows: "progress/orphan",
			bug: "The watchdog goes on after the release: a hold whose release was lost never ends.",
			env: watchOwner, lie: outlive(renew),
		},
		{
			name: "short-inner-lease", report: "redisson/redisson#1110",
			in: "nested", shows: "renewal/own-release",
			bug: "Each release shortens the lease of the holds that remain.",
			edits: []edit{{"redisson_release.lua", "redis.call('pexpire', KEYS[1], ARGV[2])",
				"redis.call('pexpire', KEYS[1], math.floor(ARGV[2] / 10))"}},
		},
	}
}
