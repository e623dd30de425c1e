-- Looks at some of all totals, from a position of HSCAN on, and removes those of an owner. They
-- cannot be found by the owner's entries, because retention may have removed these. Replies
-- with the next position, 0 at the end.
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
