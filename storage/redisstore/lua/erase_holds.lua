-- Looks at some of all open reservations, from a position of HSCAN on, and removes those of an
-- owner. Replies with the next position, 0 at the end, and the number removed.
local given = answered()
if given then return reply(given[1], given[2]) end

local owner, from = arg(), arg()
local found = call('HSCAN', K.holds, from, 'COUNT', '500')
local ids, expiring = {}, {}
for i = 1, #found[2], 2 do
	local id, text = found[2][i], found[2][i + 1]
	local of, at = field(text, 1)
	if of == owner then
		local _
		_, at = field(text, at)
		insert(ids, id)
		if at <= #text then insert(expiring, sub(text, at) .. id) end
	end
end
local told = { found[1], format('%d', #ids) }

answer(told)
many('HDEL', K.holds, ids)
many('ZREM', K.expiring, expiring)
return reply(told[1], told[2])
