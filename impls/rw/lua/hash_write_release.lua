-- name: hash_write_release.lua
-- Deletes the write mark if it still has the caller's time.
-- KEYS[1] the lock; ARGV[1] the time that the caller wrote
-- Replies nil, with or without such a mark.
if ARGV[1] == redis.call("HGET", KEYS[1], "write") then
	redis.call("HDEL", KEYS[1], "write")
end
