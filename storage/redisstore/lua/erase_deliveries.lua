-- Removes deliveries of the owner's events, open or final. Also replies with the number of their
-- attempts.
local members = call('ZRANGEBYLEX', K.log, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', STEP)
local ids, open, events, attempts = {}, {}, {}, 0
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, value in ipairs(get(K.deliveries, ids)) do
	local d = value and open_delivery(ids[i], value)
	if d then
		attempts = attempts + d.attempts % 65536
		insert(events, d.event)
		if not final(d) then
			touch(d.lane)
			insert(open, d.lane .. d.was .. d.number .. d.id)
		end
	end
end
local told = { position(#members), format('%d', #members), format('%d', attempts) }

answer(told)
many('ZREM', K.queue, open)
many('HDEL', K.deliveries, ids)
many('HDEL', K.attempts, ids)
many('HDEL', K.lives, events)
many('ZREM', K.log, members)
relink()
return reply(unpack(told))
