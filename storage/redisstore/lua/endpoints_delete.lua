-- Deletes an endpoint and its replay, and ends its open deliveries.
local given = answered()
if given then return reply(given[1]) end

local id, owner, lane = arg(), arg(), arg()
local e = endpoint(id, owner)
if not e then return reply('unknown') end
local had = replay_of(id)
local ids, open, lost = {}, {}, {}
local members = call('ZRANGEBYLEX', K.queue, '[' .. lane, '(' .. after(lane))
for i, member in ipairs(members) do ids[i] = sub(member, #lane + 33) end
for i, value in ipairs(get(K.deliveries, ids)) do
	if value then
		local d = open_delivery(ids[i], value)
		orphan(d)
		insert(open, d)
	else
		insert(lost, members[i])
	end
end
touch(lane)
prepare(open)

answer({ 'done' })
call('HDEL', K.endpoints, id)
call('HDEL', K.urls, e.url)
call('ZREM', K.endpointorder, place(e))
rebind(e)
keep_change('e', owner, id)
if had then
	call('HDEL', K.replays, id)
	call('ZREM', K.replaysdue, had.due .. id)
end
many('ZREM', K.queue, lost)
save(open)
remove_events(step)
return reply('done')
