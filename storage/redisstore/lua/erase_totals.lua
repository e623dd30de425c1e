-- Removes totals. They cannot be found by the owner's entries, because retention may have removed
-- these.
local found = call('HSCAN', K.totals, from, 'COUNT', LOOK)
local names = {}
for i = 1, #found[2], 2 do
	local name = found[2][i]
	local _, at = field(name, 1)
	if sub(name, at, at + #owner - 1) == owner then insert(names, name) end
end
local told = { found[1] ~= '0' and found[1] or '' }

answer(told)
many('HDEL', K.totals, names)
return reply(unpack(told))
