-- Removes an owner's totals among some of all, from a position of HSCAN on: retention may
-- have removed the entries that would tell their sources. The answer is the next position,
-- 0 at the end.
local given = answered()
if given then return reply(given[1]) end

local owner, from = arg(), arg()
local found = call('HSCAN', K.totals, from, 'COUNT', '500')
local names = {}
for i = 1, #found[2], 2 do
	local name = found[2][i]
	local _, at = field(name, 1)
	if sub(name, at, at + #owner - 1) == owner then insert(names, name) end
end

answer({ found[1] })
many('HDEL', K.totals, names)
return reply(found[1])
