-- Removes an owner's items among count of late (see settled.lua), from the end but for the
-- last skip: retention takes the first ones. The answer is how many items were looked at, and
-- how many were removed.
local given = answered()
if given then return reply(given[1], given[2]) end

local owner, skip, count = arg(), tonumber(arg()), tonumber(arg())
local list, late = call('ZRANGE', K.late, format('%d', -skip - count), format('%d', -skip - 1)), {}
for _, e in ipairs(list) do
	if field(e, 35) == owner then insert(late, e) end
end
local told = { format('%d', #list), format('%d', #late) }

answer(told)
many('ZREM', K.late, late)
return reply(told[1], told[2])
