-- name: redisson_renew.lua
-- KEYS[1] the lock, a hash of owner -> count
-- ARGV[1] owner, ARGV[2] lease in milliseconds
-- replies 1 when the owner holds and the lease was restarted, 0 otherwise
if redis.call('hexists', KEYS[1], ARGV[1]) == 1 then
  redis.call('pexpire', KEYS[1], ARGV[2])
  return 1
end
return 0
