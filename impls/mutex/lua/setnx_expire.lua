-- name: setnx_expire.lua
-- KEYS[1] the lock
-- ARGV[1] value, ARGV[2] lease in seconds
-- replies 1 when granted, nil when the key exists
if redis.call('setnx', KEYS[1], ARGV[1]) == 1 then
  redis.call('expire', KEYS[1], tonumber(ARGV[2]))
  return true
end
return false
