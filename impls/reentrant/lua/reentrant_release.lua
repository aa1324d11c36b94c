-- name: reentrant_release.lua
-- KEYS[1] the lock, a hash of owner -> count
-- ARGV[1] owner
-- replies nil when the owner does not hold, 1 when its last hold ended, 0 when it still holds
if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then
  return nil
elseif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then
  redis.call('del', KEYS[1])
  return 1
end
return 0
