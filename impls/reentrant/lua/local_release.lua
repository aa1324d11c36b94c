-- name: local_release.lua
-- KEYS[1] the lock
-- ARGV[1] the value that the caller set
-- replies 1 when the key held the value and is deleted, 0 otherwise
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
