-- uses: limits
-- keys: settled late
-- Events without an open delivery. settled is a list sorted by when they became
-- so; those for which that is earlier than for its last, because clocks disagree
-- or step back, are in late, a sorted set. Each begins with that time, sequence
-- number and number of the first delivery (16 each), and has fields for owner
-- and the ids of the deliveries, and the event's id.
local function keep_settled(list)
	if #list == 0 then return end
	local last = call('LINDEX', K.settled, '-1')
	if not last or sub(last, 1, 16) <= now then return many('RPUSH', K.settled, list) end
	local scored = {}
	for i, e in ipairs(list) do scored[2 * i - 1], scored[2 * i] = '0', e end
	many('ZADD', K.late, scored)
end

-- first_settled takes out the first, up to most of them, that are too many or
-- too old.
local function first_settled(excess, most)
	local list, late = call('LRANGE', K.settled, '0', format('%d', most - 1)), call('ZRANGE', K.late, '0', format('%d', most - 1))
	local taken, i, k = {}, 1, 1
	while #taken < most do
		local e, l = list[i], late[k]
		local is_late = l and (not e or l < e)
		if is_late then e = l end
		if not e or (#taken >= excess and sub(e, 1, 16) > old_event) then break end
		insert(taken, e)
		if is_late then k = k + 1 else i = i + 1 end
	end
	many('ZREM', K.late, late, 1, k - 1)
	if i > 1 then call('LTRIM', K.settled, format('%d', i - 1), '-1') end
	return taken
end

-- may_go says whether there are any; it is asked by every call that writes.
local function may_go(excess)
	local first, late = call('LINDEX', K.settled, '0'), call('ZRANGE', K.late, '0', '0')[1]
	if late and (not first or late < first) then first = late end
	return first and (excess > 0 or sub(first, 1, 16) <= old_event)
end
