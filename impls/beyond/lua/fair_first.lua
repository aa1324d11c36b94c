-- The common part of all scripts of fair, inserted at their line "-- include": the server's time,
-- and the first of the queue. It first removes heads whose place has ended.
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local struck = false
local function first()
	while true do
		local token = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
		if not token then
			return nil
		end
		local ends = redis.call('ZSCORE', KEYS[4], token)
		if ends and tonumber(ends) > now then
			return token
		end
		redis.call('ZREM', KEYS[3], token)
		redis.call('ZREM', KEYS[4], token)
		struck = true
	end
end
