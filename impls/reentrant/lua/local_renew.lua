-- name: local_renew.lua
-- KEYS[1] the lock
-- ARGV[1] the value that the caller set, ARGV[2] lease in seconds
-- replies 1 when the key held the value and its lease was restarted, 0 otherwise
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('expire', KEYS[1], ARGV[2])
end
return 0
