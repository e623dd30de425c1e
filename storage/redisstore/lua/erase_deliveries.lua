-- Removes up to limit deliveries of an owner's events, open or final. Replies with the number
-- of deliveries and of their attempts.
local given = answered()
if given then return reply(given[1], given[2]) end

local owner, limit = arg(), arg()
local members = call('ZRANGEBYLEX', K.log, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)
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
local told = { format('%d', #members), format('%d', attempts) }

answer(told)
many('ZREM', K.queue, open)
many('HDEL', K.deliveries, ids)
many('HDEL', K.attempts, ids)
many('HDEL', K.lives, events)
many('ZREM', K.log, members)
relink()
return reply(told[1], told[2])
