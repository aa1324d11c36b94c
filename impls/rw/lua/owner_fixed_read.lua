-- name: owner_fixed_read.lua
-- Takes the read lock as the article intends it: a reader may read again.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 0 if there is a writer, else 1.
if redis.call("get", KEYS[1]..":write") then
	return 0
end
redis.call("hset", KEYS[1]..":read", ARGV[1], 1)
return 1
