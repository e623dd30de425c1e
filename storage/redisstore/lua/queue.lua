-- The queue of open deliveries. queue is sorted: lane, due, number, id of each delivery; a
-- lane is the escaped id of an endpoint. lanes is sorted, and has the first delivery of each
-- lane: due, number, lane.
local touched = {} -- by lane: due and number of its first delivery before the change, or false

local function first_of(lane)
	local first = call('ZRANGEBYLEX', K.queue, '[' .. lane, '(' .. after(lane), 'LIMIT', '0', '1')[1]
	return first and sub(first, #lane + 1, #lane + 32) or false
end

-- touch is called before the queue of a lane is changed, relink after all changes.
local function touch(lane)
	if touched[lane] == nil then touched[lane] = first_of(lane) end
end

local function relink()
	local gone, come = {}, {}
	for lane, was in pairs(touched) do
		local is = first_of(lane)
		if is ~= was then
			if was then insert(gone, was .. lane) end
			if is then
				insert(come, '0')
				insert(come, is .. lane)
			end
		end
	end
	many('ZREM', K.lanes, gone)
	many('ZADD', K.lanes, come)
end
