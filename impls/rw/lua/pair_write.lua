-- name: pair_write.lua
-- Takes the write lock of the single-node edition.
-- KEYS[1] the readers' key; KEYS[2] the writer's key; ARGV[1] the lease in seconds
-- Replies 0 if there is a reader or a writer, else 1.
local readKey, writeKey, timeout = KEYS[1], KEYS[2], ARGV[1]
if redis.call("EXISTS", readKey) == 1 then
	return 0
end
if redis.call("SET", writeKey, "1", "EX", timeout, "NX") then
	return 1
end
return 0
