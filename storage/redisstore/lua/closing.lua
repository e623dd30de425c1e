-- The open deliveries of deleted endpoints. A script ends up to ENDED of them. If a lane has
-- more, it closes the lane: no more deliveries are claimed from it (see queue.lua). The sorted
-- set closing has the closed lanes. deliveries_end.lua ends their deliveries.
local ENDED = 1000
local open, lost = {}, {}

-- end_lane takes deliveries of a lane, and closes or opens it. keep_ended ends what was taken.
local function end_lane(lane)
	touch(lane)
	local room, ids = ENDED - #open - #lost, {}
	local members = call('ZRANGEBYLEX', K.queue, '(' .. lane .. CLOSED, '(' .. after(lane), 'LIMIT', '0', format('%d', room + 1))
	local closed = #members > room
	for i = 1, min(#members, room) do ids[i] = sub(members[i], #lane + 33) end
	for i, value in ipairs(get(K.deliveries, ids)) do
		local d = value and open_delivery(ids[i], value)
		if d then orphan(d) end
		insert(d and open or lost, d or members[i])
	end
	if closed then
		call('ZADD', K.queue, '0', lane .. CLOSED)
		call('ZADD', K.closing, '0', lane)
	else
		call('ZREM', K.queue, lane .. CLOSED)
		call('ZREM', K.closing, lane)
	end
end

local function keep_ended()
	many('ZREM', K.queue, lost)
	prepare(open)
	save(open)
end
