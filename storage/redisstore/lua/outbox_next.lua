-- Reads when the next delivery of some parts is due, '' when none is open.
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
