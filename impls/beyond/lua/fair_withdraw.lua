-- name: fair_withdraw.lua
-- Deletes a token's hold and its place in the queue. If the lock is then free, wakes the first of
-- the queue.
-- KEYS[1] the holder's token; KEYS[2] the counter of fences and tickets, which never expires
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
-- ARGV[1] token; ARGV[3] channel of a waiter, without its token
-- Replies the number of entries deleted.
local traces = redis.call('ZREM', KEYS[3], ARGV[1]) + redis.call('ZREM', KEYS[4], ARGV[1])
if redis.call('GET', KEYS[1]) == ARGV[1] then
	traces = traces + redis.call('DEL', KEYS[1])
end
-- include fair_first.lua
local head = first()
if head and redis.call('EXISTS', KEYS[1]) == 0 then
	redis.call('PUBLISH', ARGV[3] .. head, '')
end
return traces
