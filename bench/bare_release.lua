-- name: bare_release.lua
-- Deletes the key if it holds the caller's token.
-- KEYS[1] lock; ARGV[1] token
-- Replies 1 when deleted, else 0.
if redis.call('get', KEYS[1]) == ARGV[1] then
  return redis.call('del', KEYS[1])
end
return 0
