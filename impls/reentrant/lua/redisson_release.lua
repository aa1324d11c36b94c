-- name: redisson_release.lua
-- KEYS[1] the lock, a hash of owner -> count
-- KEYS[2] the channel of the waiters
-- ARGV[1] owner, ARGV[2] lease in milliseconds
-- replies nil when the owner does not hold, 1 when its last hold ended, 0 when it still holds and
-- its lease was restarted
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
end
if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 0
end
redis.call('del', KEYS[1])
redis.call('publish', KEYS[2], 'released')
return 1
