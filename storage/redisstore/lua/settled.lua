-- uses: now
-- keys: settled late
-- Runs of events without an open delivery. settled is a list sorted by when they
-- became so; those for which that is earlier than for its last, because clocks
-- disagree or step back, are in late, a sorted set. Each begins with that time,
-- the number of its first event (16 each) and how many they are (2), and has a
-- field for owner; an event with deliveries has the number of the first (16) and
-- a field for the id of each, with its number where that does not follow the one
-- before: see delivery.lua.
local function keep_settled(list)
	if #list == 0 then return end
	local last = call('LINDEX', K.settled, '-1')
	if not last or sub(last, 1, 16) <= now then return many('RPUSH', K.settled, list) end
	local scored = {}
	for i, e in ipairs(list) do scored[2 * i - 1], scored[2 * i] = '0', e end
	many('ZADD', K.late, scored)
end
