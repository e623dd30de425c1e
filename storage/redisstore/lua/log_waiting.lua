-- Looks at up to count of the open deliveries of a lane. Returns the position for the next call (''
-- at the end), how many there were, and when the oldest was created, at the latest at oldest.
local lane, beyond, count, oldest = arg(), arg(), arg(), arg()
local first = beyond == '' and '(' .. lane .. CLOSED or '(' .. beyond
local members, ids, found = call('ZRANGEBYLEX', K.queue, first, '(' .. after(lane), 'LIMIT', '0', count), {}, 0
for i, member in ipairs(members) do ids[i] = sub(member, #lane + 33) end
for _, value in ipairs(get(K.deliveries, ids)) do
	if value then
		local at, _ = 58
		for _ = 1, 6 do _, at = field(value, at) end
		local created = instant(value, at + 1)
		if oldest == '' or created < oldest then oldest = created end
		found = found + 1
	end
end
return reply(#members < tonumber(count) and '' or members[#members], format('%d', found), oldest)
