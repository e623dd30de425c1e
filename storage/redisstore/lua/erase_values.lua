-- Removes values with a ttl.
local names = values_with('o' .. owner, 'o' .. owner, STEP)
local told = { position(#names), format('%d', #names) }

answer(told)
for _, name in ipairs(names) do remove_value(value_of(name)) end
return reply(unpack(told))
