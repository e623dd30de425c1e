-- Reads when the next delivery of some parts is due, '' when none is open.
local wanted = arg()
local next, score = '', nil
local from, size = 0, 4
repeat
	local turns = call('ZRANGE', K.turns, format('%d', from), format('%d', from + size - 1), 'WITHSCORES')
	for i = 1, #turns, 2 do
		local part = turns[i]
		if score and score ~= turns[i + 1] then return reply(next) end
		if in_parts(wanted, part) then
			local due = sub(call('ZRANGEBYLEX', K.lanes, '[' .. part, '(' .. after(part), 'LIMIT', '0', '1')[1], 3, 18)
			if not score or due < next then next, score = due, turns[i + 1] end
		end
	end
	from, size = from + size, size * 8
until #turns == 0
return reply(next)
