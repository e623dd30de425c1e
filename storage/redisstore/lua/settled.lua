-- Events without an open delivery, in the order in which they became so, from which
-- retention removes the first. settled is a list. When the clock has stepped back, an item
-- would be before the last of that list: such items are in late, which is sorted.
--
-- An item is for a run (see runs.lua): when it was settled (16), the number of its first
-- event (16), how many events it has (2), and a field for the owner. For an event that has
-- deliveries follow the number of the first (16) and a field for the id of each. Numbers
-- follow each other; an id whose number does not is #, its number (16) and the id.
local function keep_settled(list)
	if #list == 0 then return end
	local last = call('LINDEX', K.settled, '-1')
	if not last or sub(last, 1, 16) <= now then return many('RPUSH', K.settled, list) end
	local scored = {}
	for i, e in ipairs(list) do scored[2 * i - 1], scored[2 * i] = '0', e end
	many('ZADD', K.late, scored)
end
