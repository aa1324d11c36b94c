-- name: redlock_extend.lua
-- KEYS[1] the lock on this node
-- ARGV[1] the caller's token, ARGV[2] lease in milliseconds
-- replies 1 when the key held the token and its lease was restarted, 0 otherwise
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0
