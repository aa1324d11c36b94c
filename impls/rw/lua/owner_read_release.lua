-- name: owner_read_release.lua
-- Releases the read lock.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 1 when the owner was a reader, 0 when it was not.
return redis.call("hdel", KEYS[1]..":read", ARGV[1])
