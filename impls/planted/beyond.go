package planted

import (
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/impls"
)

// digest is the digest of a correct variant's script.
func digest(v impls.Variant, script string) string { return find(v.Scripts, script).Digest() }

func fencedBugs(of impls.Variant) []mutant {
	return []mutant{
		{
			name: "fence-apart", report: "bsm/redislock#93",
			in: "crash-holder", shows: "fencing-order/fence-reused",
			bug: "The fence is counted by the release and not by the grant: a holder that dies leaves its fence to the next.",
			edits: []edit{
				{"fenced_take.lua", "redis.call('INCR', KEYS[2])}", "tonumber(redis.call('GET', KEYS[2]) or 0) + 1}"},
				{"fenced_release.lua", "redis.call('DEL', KEYS[1])", "redis.call('DEL', KEYS[1])\nredis.call('INCR', KEYS[2])"},
			},
		},
		{
			name: "wake-early", report: "redisson/redisson#5761",
			in: "long-lease", shows: "progress/lost-wakeup",
			bug:    "The release wakes the waiters before it frees the lock: a quick waiter finds it held and goes back to sleep.",
			edits:  []edit{{"fenced_release.lua", "redis.call('PUBLISH', ARGV[3], '')", ""}},
			detour: wakeEarly(digest(of, "fenced_release.lua")),
		},
		{
			name: "no-wake", report: "redisson/redisson#3829",
			in: "long-lease", shows: "progress/lost-wakeup",
			bug:   "The release wakes nobody.",
			edits: []edit{{"fenced_release.lua", "redis.call('PUBLISH', ARGV[3], '')", ""}},
		},
		{
			name: "store-apart", report: "etcd-io/etcd#11457",
			in: "late-write", shows: "store-integrity/lease-overrun",
			bug:   "The store compares the fence in one step and writes in the next: what came in between is overwritten.",
			loose: true,
		},
		{
			name: "one-look", report: "mike-marcacci/node-redlock#296",
			in: "pause-after-grant", shows: "exclusive-use/lease-overrun",
			bug: "The clock is not read again when the reply arrives: a grant whose lease is over is returned.",
			env: func(env *impls.Env) { env.Clock = oneLook{env.Clock, new(time.Time)} },
		},
	}
}

func fairBugs(of impls.Variant) []mutant {
	const alive = "ends and tonumber(ends) > now"
	return []mutant{
		{
			name: "dead-head", report: "Yogdunana/StarByte#127",
			in: "crash-waiter", shows: "progress/orphan",
			bug:   "A head of the queue that died is never passed over.",
			edits: []edit{{"fair_take.lua", alive, "true"}, {"fair_release.lua", alive, "true"}, {"fair_withdraw.lua", alive, "true"}},
		},
		{
			name: "chained-deadlines", report: "redisson/redisson#3730",
			in: "crash-queue", shows: "progress/orphan",
			bug: "A place ends a lease after the place before it, so that the deadlines of the dead add up.",
			edits: []edit{{"fair_take.lua", "redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])",
				"local before = redis.call('ZRANGE', KEYS[4], -1, -1, 'WITHSCORES')\n" +
					"\tif not redis.call('ZSCORE', KEYS[4], ARGV[1]) then\n" +
					"\t\tredis.call('ZADD', KEYS[4], (before[2] or now) + ARGV[2], ARGV[1])\n\tend"}},
		},
		{
			name: "barging", report: "ionelmc/python-redis-lock#58",
			in: "contended", shows: "fairness/barging",
			bug:   "A client that asks while the lock is free gets it, even if others have waited longer.",
			edits: []edit{{"fair_take.lua", "not holder and (not head or head == ARGV[1])", "not holder"}},
		},
		{
			name: "clean-up-cancelled", report: "livekit/livekit#1859",
			in: "give-up", shows: "progress/orphan",
			bug:    "A waiter that gives up cleans up under its own cancelled context: its place stays in the queue.",
			detour: cleanUpCancelled(digest(of, "fair_withdraw.lua")),
		},
	}
}

func rwLeaseBugs() []mutant {
	return []mutant{
		{
			name: "readers-cleared", report: "symfony/symfony#65116",
			in: "read-mostly", shows: "mutual-exclusion/reader-evicted",
			bug:   "The release of one reader clears all readers.",
			edits: []edit{{"rw_release_read.lua", "redis.call('ZREM', KEYS[3], ARGV[1])", "redis.call('DEL', KEYS[3])"}},
		},
		{
			name: "ten-readers", report: "wolph/portalocker#138",
			in: "crowd-of-readers", shows: "mutual-exclusion/reader-evicted",
			bug: "Ten readers count: the eleventh puts another out of the set.",
			edits: []edit{{"rw_take_read.lua", "redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])",
				"redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])\nredis.call('ZREMRANGEBYRANK', KEYS[3], 0, -11)"}},
		},
		{
			name: "upgrade-race", report: "redisson/redisson#891",
			in: "read-mostly", shows: "mutual-exclusion/double-grant",
			bug: "A writer takes the last reader for itself and gets in beside it.",
			edits: []edit{{"rw_take_write.lua", "left = reader[2] and reader[2] - now",
				"left = redis.call('ZCARD', KEYS[3]) > 1 and reader[2] - now"}},
		},
		{
			name: "common-reader-lease", report: "redisson/redisson#7251",
			in: "crash-reader", shows: "refusal/orphan",
			bug: "A reader that extends its lease extends all readers', the dead ones' too.",
			edits: []edit{{"rw_extend_read.lua", "redis.call('ZADD', KEYS[3], now + ARGV[2], ARGV[1])",
				"for _, reader in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do\n\tredis.call('ZADD', KEYS[3], now + ARGV[2], reader)\nend"}},
		},
		{
			name: "eternal-claim", report: "redisson/redisson#3254",
			in: "crash-writer-waiting", shows: "progress/orphan",
			bug: "The claim of a writer that died while it waited keeps readers out for ever.",
			edits: []edit{{"rw_take_write.lua", "redis.call('ZADD', KEYS[4], now + ARGV[2], ARGV[1])",
				"redis.call('ZADD', KEYS[4], now + ARGV[2] * 1000, ARGV[1])"}},
		},
	}
}

func semaphoreBugs() []mutant {
	const clock = "local t = redis.call('TIME')\nlocal now = t[1] * 1000 + math.floor(t[2] / 1000)"
	const given = "local now = tonumber(ARGV[#ARGV])"
	return []mutant{
		{
			name: "client-clock", report: "bbangert/retools#18",
			in: "client-clock-skew", shows: "mutual-exclusion/clock-skew",
			bug:   "Leases are counted by the clients' clocks: one that is ahead ends the others' permits.",
			edits: []edit{{"semaphore_take.lua", clock, given}, {"semaphore_extend.lua", clock, given}, {"semaphore_release.lua", clock, given}},
			detour: func(env impls.Env, next redis.UniversalClient) redis.UniversalClient {
				return stamping{next, env.Clock}
			},
			traits: func(t *impls.Traits) { t.ClientClock = true },
		},
		{
			name: "over-release", report: "dv/redis-semaphore#49",
			in: "pause-before-release", shows: "mutual-exclusion/mis-unlock",
			bug: "A release returns whichever permit is first: one that comes too late returns another client's.",
			edits: []edit{
				{"semaphore_release.lua", "if not ends then\n\treturn 0\nend", "ends = ends or '0'"},
				{"semaphore_release.lua", "redis.call('ZREM', KEYS[1], ARGV[1])", "redis.call('ZPOPMIN', KEYS[1])"},
			},
		},
		{
			name: "first-lease-ends-all", report: "dv/redis-semaphore#61",
			in: "several-permits", shows: "mutual-exclusion/overbelief",
			bug: "The key ends with the first permit that does, and all the others with it.",
			edits: []edit{{"semaphore_take.lua", "redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')",
				"redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')"}},
		},
		{
			name: "one-too-many", report: "redisson/redisson#6664",
			in: "contended", shows: "mutual-exclusion/double-grant",
			bug: "The permits are counted before the newcomer: there is one holder too many.",
			edits: []edit{{"semaphore_take.lua", "redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5])",
				"redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[5])"}},
		},
	}
}
