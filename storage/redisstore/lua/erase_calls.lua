-- Removes an owner's replays from the stored answers of calls (see write.lua). If such a call
-- is sent again, its answer is empty.
local given = answered()
if given then return reply() end

local owner, slots = arg(), tonumber(arg())
local fields, blank = {}, {}
for at, client in ipairs(call('HGETALL', K.clients)) do
	for i = 0, at % 2 == 1 and slots - 1 or -1 do insert(fields, 'a' .. client .. format('%d', i)) end
end
local name = to_field(owner)
for i, kept in ipairs(get(K.journal, fields)) do
	if kept and #kept > 16 and fields[i] ~= slot and sub(field(kept, 17), 1, #name) == name then
		insert(blank, fields[i])
		insert(blank, sub(kept, 1, 16))
	end
end

answer({})
many('HSET', K.journal, blank)
return reply()
