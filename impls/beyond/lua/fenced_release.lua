-- name: fenced_release.lua
-- Ends the token's hold and wakes the waiters.
-- KEYS[1] the holder's token; ARGV[1] token; ARGV[3] channel of the waiters
-- Replies 1 when released, 0 when the hold was gone.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', ARGV[3], '')
return 1
