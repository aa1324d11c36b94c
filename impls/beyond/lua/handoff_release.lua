-- name: handoff_release.lua
-- Ends the token's hold and grants the lock to the first of the queue that has a place.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[3] name of a waiter's list, without its token
-- Replies 1 when released, 0 when the hold was gone.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('DEL', KEYS[1])
-- include handoff_first.lua
hand()
return 1
