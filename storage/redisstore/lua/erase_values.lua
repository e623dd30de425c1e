-- Removes up to limit of an owner's values with a ttl. Replies with the number removed.
local given = answered()
if given then return reply(given[1]) end

local owner, limit = arg(), arg()
local names = values_with('o' .. owner, 'o' .. owner, limit)

answer({ format('%d', #names) })
for _, name in ipairs(names) do remove_value(value_of(name)) end
return reply(format('%d', #names))
