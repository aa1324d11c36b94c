-- name: redlock_release.lua
-- KEYS[1] the lock on this node
-- ARGV[1] the caller's token
-- replies 1 when the key held the token and is deleted, 0 otherwise
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
