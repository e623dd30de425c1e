-- The queue of open deliveries. queue is sorted: lane, due, number, id of each delivery; a
-- lane is the part of an endpoint and its escaped id. A part is two letters, from @ to _, of
-- 5 bits each. lanes is sorted, and has the first delivery of each lane: part, due, number,
-- lane. turns has the parts with lanes; the score is turn of when the first of these is due.
local touched = {} -- by lane: due and number of its first delivery before the change, or false

local function first_of(lane)
	local first = call('ZRANGEBYLEX', K.queue, '[' .. lane, '(' .. after(lane), 'LIMIT', '0', '1')[1]
	return first and sub(first, #lane + 1, #lane + 32) or false
end

-- touch is called before the queue of a lane is changed, relink after all changes.
local function touch(lane)
	if touched[lane] == nil then touched[lane] = first_of(lane) end
end

-- turn returns a time without its last 12 bits, 4 microseconds, so that a score can have it.
local function turn(time) return format('%.0f', tonumber(sub(time, 1, 13), 16)) end

local function relink()
	local gone, come, parts = {}, {}, {}
	for lane, was in pairs(touched) do
		local is = first_of(lane)
		if is ~= was then
			local part = sub(lane, 1, 2)
			parts[part] = true
			if was then insert(gone, part .. was .. lane) end
			if is then
				insert(come, '0')
				insert(come, part .. is .. lane)
			end
		end
	end
	many('ZREM', K.lanes, gone)
	many('ZADD', K.lanes, come)
	for part in pairs(parts) do
		local first = call('ZRANGEBYLEX', K.lanes, '[' .. part, '(' .. after(part), 'LIMIT', '0', '1')[1]
		if first then
			call('ZADD', K.turns, turn(sub(first, 3, 18)), part)
		else
			call('ZREM', K.turns, part)
		end
	end
end
