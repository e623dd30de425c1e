-- Changes of terms.

-- end_terms removes terms and their generations. keep_latest stores when the last lease of the
-- other terms expires; ends is '' if there are none.
local function end_terms(list)
	if #list == 0 then return end
	local fields = {}
	for i, term in ipairs(list) do fields[i] = 't' .. term end
	many('HDEL', K.members, list)
	many('HDEL', K.journal, fields)
end

local function keep_latest(ends)
	if ends ~= '' then
		call('HSET', K.journal, 't', ends)
	else
		call('HDEL', K.journal, 't')
	end
end

-- counted_beats returns the number of joins and beats including this one, and the epoch. The
-- epoch is other, a new one, if the node has seen a greater number or knows of lost writes
-- (lost is '1'). keep_beat stores both.
local function counted_beats(seen, lost, other)
	local counts = call('HMGET', K.count, 'b', 'e')
	local beats, epoch = (counts[1] or '0') + 0, counts[2] or '0'
	if seen > beats or lost == '1' then epoch = other end
	return max(beats, seen) + 1, epoch
end

local function keep_beat(beats, epoch) call('HSET', K.count, 'b', format('%.0f', beats), 'e', epoch) end
