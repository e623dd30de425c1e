-- keep_gone refuses an owner until a time, and removes the owners whose time is over.
local function keep_gone(owner, till)
	local over = call('ZRANGEBYLEX', K.gonetimes, '-', '(' .. after(now))
	local was = call('HGET', K.journal, 'g' .. owner)
	if was then insert(over, was .. owner) end
	for _, member in ipairs(over) do
		call('HDEL', K.journal, 'g' .. sub(member, 17))
		call('ZREM', K.gonetimes, member)
	end
	if till > now then
		call('HSET', K.journal, 'g' .. owner, till)
		call('ZADD', K.gonetimes, '0', till .. owner)
	end
end
