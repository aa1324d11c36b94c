-- The common part of all scripts of handoff, inserted at their line "-- include": the server's
-- time, and the grant to the first of the queue. It first removes heads whose place has ended.
-- KEYS[3] the queue: tokens by ticket; KEYS[4] the places: tokens by their end in ms
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)

-- Removes a token from the queue, and deletes its list. The caller cannot declare that list as a
-- key, but it is in the lock's slot.
local function strike(token)
	return redis.call('ZREM', KEYS[3], token) + redis.call('ZREM', KEYS[4], token) + redis.call('DEL', ARGV[3] .. token)
end

-- Grants a free lock to the first whose place has not ended, until the place ends, and pushes the
-- fence to the list on which the waiter blocks. The place began with the waiter's last call, so the
-- waiter knows when the hold ends.
local function hand()
	while true do
		local token = redis.call('ZRANGE', KEYS[3], 0, 0)[1]
		if not token then
			return
		end
		local ends = tonumber(redis.call('ZSCORE', KEYS[4], token) or 0)
		strike(token)
		if ends > now then
			redis.call('SET', KEYS[1], token, 'PX', ends - now)
			redis.call('RPUSH', ARGV[3] .. token, redis.call('INCR', KEYS[2]))
			redis.call('PEXPIRE', ARGV[3] .. token, ends - now)
			return
		end
	end
end
