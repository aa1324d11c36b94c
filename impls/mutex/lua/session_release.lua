-- name: session_release.lua
-- KEYS[1] the lock
-- ARGV[1] the value of the caller's lock object
-- replies 1 when the key held the value and is deleted, nil otherwise
if redis.call('get', KEYS[1]) == ARGV[1] then
  redis.call('del', KEYS[1])
  return true
end
return false
