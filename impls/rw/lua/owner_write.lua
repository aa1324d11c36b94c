-- name: owner_write.lua
-- Takes the write lock as the article prints it. HLEN replies a number, and every number, even 0,
-- is true in Lua, so it always takes the first branch.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 0, always.
if redis.call("hlen", KEYS[1]..":read") then
	return 0
else
	return redis.call("setnx", KEYS[1]..":write", ARGV[1])
end
