-- Events without open deliveries, in the order in which they became so; retention removes
-- the first ones. settled is a list. An item whose time is before that of the last one,
-- because the clock has stepped back, is in late instead, which is sorted.
--
-- An item is for a run (see runs.lua): when it was settled (16 digits), the number of its
-- first event (16), how many events it has (2), and a field for the owner. If the event has
-- deliveries, the number of the first (16) and a field for the id of each follow. The
-- numbers are consecutive; a delivery with another number is #, its number (16) and its id.
local function keep_settled(list)
	if #list == 0 then return end
	local last = call('LINDEX', K.settled, '-1')
	if not last or sub(last, 1, 16) <= now then return many('RPUSH', K.settled, list) end
	local scored = {}
	for i, e in ipairs(list) do scored[2 * i - 1], scored[2 * i] = '0', e end
	many('ZADD', K.late, scored)
end
