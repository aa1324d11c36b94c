-- name: owner_write_release.lua
-- Releases the write lock.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 1 when the owner was the writer, 0 when it was not.
if redis.call("get", KEYS[1]..":write") == ARGV[1] then
	return redis.call("del", KEYS[1]..":write")
else
	return 0
end
