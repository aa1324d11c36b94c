-- name: redisson_acquire.lua
-- KEYS[1] the lock, a hash of owner -> count
-- ARGV[1] owner, ARGV[2] lease in milliseconds
-- replies nil when granted, else the milliseconds left of the other client's lease
if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('hincrby', KEYS[1], ARGV[1], 1)
  redis.call('pexpire', KEYS[1], ARGV[2])
  return nil
end
return redis.call('pttl', KEYS[1])
