-- The open deliveries of deleted endpoints. A script ends up to ENDED of them. If a lane has
-- more, the script closes it: no more deliveries are claimed from it (see queue.lua). The
-- sorted set closing has the closed lanes. deliveries_end.lua ends their deliveries.
local ENDED = 1000
local orphans, lost = {}, {}
local closed, emptied = {}, {}

-- end_lane notes the deliveries of a lane to end. Call it before the first write. keep_ended
-- makes the changes. Call it after the first write.
local function end_lane(lane)
	local room, ids = ENDED - #orphans - #lost, {}
	local members = call('ZRANGEBYLEX', K.queue, '(' .. lane .. CLOSED, '(' .. after(lane), 'LIMIT', '0', format('%d', room + 1))
	for i = 1, min(#members, room) do ids[i] = sub(members[i], #lane + 33) end
	for i, value in ipairs(get(K.deliveries, ids)) do
		if value then
			local d = open_delivery(ids[i], value)
			orphan(d)
			insert(orphans, d)
		else
			insert(lost, members[i])
		end
	end
	touch(lane)
	insert(#members > room and closed or emptied, lane)
end

local function keep_ended()
	for _, lane in ipairs(closed) do
		call('ZADD', K.queue, '0', lane .. CLOSED)
		call('ZADD', K.closing, '0', lane)
	end
	for _, lane in ipairs(emptied) do
		call('ZREM', K.queue, lane .. CLOSED)
		call('ZREM', K.closing, lane)
	end
	many('ZREM', K.queue, lost)
	save(orphans)
end
