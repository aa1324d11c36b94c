-- name: hash_read_release.lua
-- Deletes the read mark if it still has the caller's time.
-- KEYS[1] the lock; ARGV[1] the time that the caller wrote
-- Replies nil, with or without such a mark.
if ARGV[1] == redis.call("HGET", KEYS[1], "read") then
	redis.call("HDEL", KEYS[1], "read")
end
