-- name: hash_write.lua
-- Takes the write lock of the cluster edition. All times are by the caller's clock.
-- KEYS[1] the lock; ARGV[1] key lease, ARGV[2] read time-out, ARGV[3] write time-out, ARGV[4] the
--   caller's now; all in ms
-- Replies 0 when a mark is younger than its time-out, else 1.
local lockKey, timeout, now = KEYS[1], tonumber(ARGV[1]), ARGV[4]
local function young(field, limit)
	local value = redis.call("HGET", lockKey, field)
	return value and tonumber(now) - tonumber(value) <= tonumber(limit)
end
if young("write", ARGV[3]) or young("read", ARGV[2]) then
	return 0
end
redis.call("HSET", lockKey, "write", now)
redis.call("PEXPIRE", lockKey, timeout)
return 1
