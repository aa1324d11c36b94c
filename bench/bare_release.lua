-- name: bare_release.lua
-- Deletes the key if the caller's token is in it.
-- KEYS[1] lock   ARGV[1] token   replies 1 when it deleted the key, else 0
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
