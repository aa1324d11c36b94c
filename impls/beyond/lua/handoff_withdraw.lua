-- name: handoff_withdraw.lua
-- Deletes a token's hold, its place in the queue and its list. If the lock is then free, grants it
-- to the first of the queue.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[3] name of a waiter's list, without its token
-- Replies the number of entries deleted.
-- include handoff_first.lua
local traces = strike(ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
	traces = traces + redis.call('DEL', KEYS[1])
end
if redis.call('EXISTS', KEYS[1]) == 0 then
	hand()
end
return traces
