-- name: owner_fixed_write.lua
-- Takes the write lock as the article intends it: refused while there are readers.
-- KEYS[1] the lock; ARGV[1] the owner
-- Replies 0 if there is a reader or a writer, else 1.
if redis.call("hlen", KEYS[1]..":read") > 0 then
	return 0
end
return redis.call("setnx", KEYS[1]..":write", ARGV[1])
