-- name: handoff_withdraw.lua
-- Leaves nothing of a token behind: no hold, no place in the queue, no list. A lock that is free then goes to the first of the queue.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[3] name of a waiter's list, but for its token
-- Replies how many traces there were.
-- include handoff_first.lua
local traces = strike(ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
	traces = traces + redis.call('DEL', KEYS[1])
end
if redis.call('EXISTS', KEYS[1]) == 0 then
	hand()
end
return traces
