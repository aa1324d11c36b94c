package planted

import (
	"github.com/lockbench/lockbench/impls"
)

func tokenBugs() []mutant {
	return []mutant{
		{
			name: "blind-release", report: "laravel/framework#26213",
			in: "pause-before-release", shows: "mutual-exclusion/mis-unlock",
			bug:   "The release deletes the key whoever holds it.",
			edits: []edit{{"token_release.lua", "redis.call('get', KEYS[1]) == ARGV[1]", "true"}},
		},
		{
			name: "packed-release", report: "laravel/framework#36337",
			in: "contended", shows: "release-safety/no-unlock",
			bug:   "The release compares the key with the token packed in quotes, which the acquire does not write: it frees nothing.",
			edits: []edit{{"token_release.lua", "== ARGV[1]", "== '\"' .. ARGV[1] .. '\"'"}},
		},
		{
			name: "expire-apart", report: "redis/redis-py#818",
			in: "crash-mid-acquire", shows: "progress/no-expiry",
			bug:    "The lease is given in a second command, which a client that dies in between never sends.",
			detour: expireApart,
			traits: func(t *impls.Traits) { t.MultiCommand = true },
		},
		{
			name: "same-token", report: "redis/redis-py#416",
			in: "pause-before-release", shows: "mutual-exclusion/mis-unlock",
			bug:    "Two clients hold under the same token, so that comparing it tells nothing.",
			env:    func(env *impls.Env) { env.Rand = repeated("0") },
			lie:    namelessGrants,
			traits: func(t *impls.Traits) { t.UniqueToken = false },
		},
		{
			name: "owner-is-token", report: "teableio/teable#3238",
			in: "restart-same-owner", shows: "mutual-exclusion/mis-unlock",
			bug:    "The token is the owner's id, so that a client that restarts under its id has the token of the one before.",
			env:    func(env *impls.Env) { env.Rand = repeated(env.Owner) },
			lie:    namelessGrants,
			traits: func(t *impls.Traits) { t.UniqueToken = false },
		},
		{
			name: "extend-always-yes", report: "go-redsync/redsync#61",
			in: "pause-extend", shows: "mutual-exclusion/overbelief",
			bug: "Extend reports success though the hold is gone.",
			lie: extendAlwaysYes,
		},
		{
			name: "extend-with-fraction", report: "gotomicro/redis-lock v0.0.3",
			in: "pause-extend", shows: "renewal/never-granted",
			bug:   "Extend asks for a lease with a fraction of a millisecond, which the server refuses.",
			edits: []edit{{"token_extend.lua", "ARGV[2])", "ARGV[2] + 0.5)"}},
		},
		{
			name: "extend-recreates", report: "leandromoreira/redlock-rb#36",
			in: "pause-extend", shows: "mutual-exclusion/mis-unlock",
			bug: "Extend recreates a key that is gone, and overwrites another client's.",
			edits: []edit{
				{"token_extend.lua", "redis.call('get', KEYS[1]) == ARGV[1]", "true"},
				{"token_extend.lua", "return redis.call('pexpire', KEYS[1], ARGV[2])", "redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])\n  return 1"},
			},
		},
		{
			name: "busy-is-unavailable", report: "CortexReach/memory-lancedb-pro#879",
			in: "contended", shows: "mutual-exclusion/double-grant",
			bug: "A refusal is taken for a failure of the server, and the client falls back to a lock of its own process.",
			lie: func(env impls.Env, honest impls.Lock) impls.Lock { return &fallback{Lock: honest, env: env} },
		},
		{
			name: "unknown-is-busy", report: "redis/go-redis#2985",
			in: "lost-reply-alone", shows: "refusal/ambiguous-reply",
			bug: "A reply that was lost is taken for a refusal, while the key holds the caller's own token.",
			lie: unknownIsBusy,
		},
		{
			name: "names-count-together", report: "spring-integration#11146",
			in: "many-names", shows: "release-safety/no-unlock",
			bug: "A client counts its holds of all names together: only the last release of any reaches the server.",
			lie: countTogether,
		},
		{
			name: "lease-from-reply", report: "mike-marcacci/node-redlock#369",
			in: "pause-after-grant", shows: "mutual-exclusion/overbelief",
			bug: "The validity is counted from the reply, so that it outlasts the lease by the time the reply took.",
			lie: countedFromReply,
		},
	}
}
