-- Removes the cursors of targets. Replies with the number of cursors removed.
local given = answered()
if given then return reply(given[1]) end

local fields, there = args(tonumber(arg())), 0
for i, target in ipairs(fields) do fields[i] = 'c' .. target end
for _, cursor in ipairs(get(K.journal, fields)) do
	if cursor then there = there + 1 end
end

answer({ format('%d', there) })
many('HDEL', K.journal, fields)
return reply(format('%d', there))
