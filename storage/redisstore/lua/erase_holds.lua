-- Removes the owner's open reservations.
local found = call('HSCAN', K.holds, from, 'COUNT', LOOK)
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
local told = { found[1] ~= '0' and found[1] or '', format('%d', #ids) }

answer(told)
many('HDEL', K.holds, ids)
many('ZREM', K.expiring, expiring)
return reply(unpack(told))
