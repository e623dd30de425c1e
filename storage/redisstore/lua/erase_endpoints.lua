-- Removes up to limit of an owner's endpoints with their replays. Replies with the number of
-- endpoints and of replays. erase_deliveries.lua removes the deliveries.
local given = answered()
if given then return reply(given[1], given[2]) end

local owner, limit = arg(), arg()
local members = call('ZRANGEBYLEX', K.endpointorder, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)
local ids, urls, bound, replays, due = {}, {}, {}, {}, {}
for i, member in ipairs(members) do
	local _, last = find(member, '\0\0', #owner + 1, true)
	ids[i] = sub(member, last + 17)
	local e, r = endpoint(ids[i], owner), replay_of(ids[i])
	if e then
		insert(urls, e.url)
		insert(bound, 'b' .. e.bound)
	end
	if r then
		insert(replays, ids[i])
		insert(due, r.due .. ids[i])
	end
end
local told = { format('%d', #members), format('%d', #replays) }

answer(told)
many('HDEL', K.endpoints, ids)
many('HDEL', K.urls, urls)
many('HDEL', K.journal, bound)
many('ZREM', K.endpointorder, members)
many('HDEL', K.replays, replays)
many('ZREM', K.replaysdue, due)
return reply(told[1], told[2])
