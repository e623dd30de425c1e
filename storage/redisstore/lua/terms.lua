-- Changes of terms.

-- end_terms removes terms; keep_latest notes when the last of the leases is over, '' if
-- there are none.
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

-- counted_beats reads how many joins and beats there were. If the node has seen more of them, or
-- that writes were lost, there is another epoch. keep_beat counts one more.
local function counted_beats(seen, lost, other)
	local counts = call('HMGET', K.count, 'b', 'e')
	local beats, epoch = (counts[1] or '0') + 0, counts[2] or '0'
	if seen > beats or lost == '1' then epoch = other end
	return max(beats, seen) + 1, epoch
end

local function keep_beat(beats, epoch) call('HSET', K.count, 'b', format('%.0f', beats), 'e', epoch) end
