-- Removes the cursors of targets, by their fields in journal.
local fields, there = args(tonumber(arg())), 0
for _, cursor in ipairs(get(K.journal, fields)) do
	if cursor then there = there + 1 end
end
local told = { position(0), format('%d', there) }

answer(told)
many('HDEL', K.journal, fields)
return reply(unpack(told))
