-- name: reentrant_renew.lua
-- KEYS[1] the lock, a hash of owner -> count
-- ARGV[1] owner, ARGV[2] lease in seconds
-- replies 1 when the owner holds and the lease was restarted, 0 otherwise
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  return redis.call('expire', KEYS[1], ARGV[2])
end
return 0
