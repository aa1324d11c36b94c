-- name: pair_read.lua
-- Takes the read lock of the single-node edition.
-- KEYS[1] the readers' key; KEYS[2] the writer's key; ARGV[1] the lease in seconds
-- Replies 0 if there is a writer, else 1: all readers share one mark.
local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
if redis.call("EXISTS", writeKey) == 1 then
	return 0
end
redis.call("SET", readKey, "1", "EX", timeout)
return 1
