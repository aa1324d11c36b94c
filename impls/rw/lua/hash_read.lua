-- name: hash_read.lua
-- Takes the read lock of the cluster edition. All times are by the caller's clock.
-- KEYS[1] the lock; ARGV[1] key lease, ARGV[2] read time-out, ARGV[3] write time-out, ARGV[4] the
--   caller's now; all in ms
-- Replies 0 when a write mark is younger than its time-out, else 1, and overwrites the single read
-- mark.
local lockKey, timeout, writeExpTime, now = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3]), ARGV[4]
local writeValue = redis.call("HGET", lockKey, "write")
if writeValue and tonumber(now) - tonumber(writeValue) <= writeExpTime then
	return 0
end
redis.call("HSET", lockKey, "read", now)
redis.call("PEXPIRE", lockKey, timeout)
return 1
