-- name: lua_nil.lua
-- KEYS[1] the lock
-- ARGV[1] value, ARGV[2] lease in seconds
-- replies always nil: GET of a missing key is false in Lua, never nil
if redis.call("get", KEYS[1]) == nil then
  if redis.call("setnx", KEYS[1], ARGV[1]) == 1 then
    redis.call("expire", KEYS[1], ARGV[2])
    return 1
  else
    return
  end
end
