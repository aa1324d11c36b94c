-- name: reentrant_acquire.lua
-- KEYS[1] the lock, a hash of owner -> count
-- ARGV[1] owner, ARGV[2] lease in seconds
-- replies 1 when granted or re-entered, with a restarted lease; 0 when another owner holds
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('expire', KEYS[1], ARGV[2])
  return 1
end
return 0
