-- The queue of open deliveries, in three sorted sets:
--
--   queue  lane, due, number, id of each delivery. A lane is the part of an endpoint (two
--          letters from @ to _, of 5 bits each) and the endpoint's escaped id
--   lanes  part, due, number, lane of the first delivery of each lane
--   turns  due, number, part of the first delivery of each part
--
-- A lane is closed by a member of queue that comes before all others: lane, CLOSED. The lane is
-- then not in lanes.
local CLOSED = hex(0) .. hex(0)
local touched = {} -- by lane: due and number of its first delivery before the changes, or false

-- first_of returns due and number of the first delivery of a lane (key is that of queue) or
-- part (key is that of lanes). It returns false if there is none.
local function first_of(key, name)
	local first = call('ZRANGEBYLEX', key, '[' .. name, '(' .. after(name), 'LIMIT', '0', '1')[1]
	return first and sub(first, #name + 1, #name + 32) or false
end

-- touch notes a lane whose queue will change. Call it before each change. added is due and number
-- of a delivery if all changes of the lane add one. relink updates lanes and turns. Call it after
-- all changes.
local least = {} -- by lane: the smallest added
local function touch(lane, added)
	if touched[lane] == nil then touched[lane] = first_of(K.queue, lane) end
	if added and (not least[lane] or added < least[lane]) then least[lane] = added end
end

local function relink()
	local gone, come, parts = {}, {}, {}
	for lane, was in pairs(touched) do
		local is = least[lane]
		if not is then
			is = first_of(K.queue, lane)
		elseif was and was < is then
			is = was
		end
		if is ~= was then
			local part = sub(lane, 1, 2)
			if parts[part] == nil then parts[part] = first_of(K.lanes, part) end
			if was then insert(gone, part .. was .. lane) end
			if is and is ~= CLOSED then
				insert(come, '0')
				insert(come, part .. is .. lane)
			end
		end
	end
	many('ZREM', K.lanes, gone)
	many('ZADD', K.lanes, come)
	gone, come = {}, {}
	for part, was in pairs(parts) do
		local is = first_of(K.lanes, part)
		if is ~= was then
			if was then insert(gone, was .. part) end
			if is then
				insert(come, '0')
				insert(come, is .. part)
			end
		end
	end
	many('ZREM', K.turns, gone)
	many('ZADD', K.turns, come)
end
