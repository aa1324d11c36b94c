-- name: owner_read.lua
-- Takes the read lock as the article prints it: the script builds the names of the two keys, which
-- are not declared.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 0 if there is a writer, 1 if the owner is a new reader, and 0 if it is a reader already
-- (HSET counts new fields).
if redis.call("get", KEYS[1]..":write") then
	return 0
else
	return redis.call("hset", KEYS[1]..":read", ARGV[1], 1)
end
