-- Reads the earliest due time of the open deliveries in a set of parts, or '' if there are
-- none.
local wanted = arg()
local from, size = 0, 1
repeat
	local turns = call('ZRANGE', K.turns, format('%d', from), format('%d', from + size - 1))
	for _, t in ipairs(turns) do
		if in_parts(wanted, t) then return reply(sub(t, 1, 16)) end
	end
	from, size = from + size, 100
until #turns == 0
return reply('')
