-- Reads replays that are due, earliest due first: endpoint and replay of each.
local now, limit = arg(), arg()
local list = {}
for _, member in ipairs(call('ZRANGEBYLEX', K.replaysdue, '-', '(' .. after(now), 'LIMIT', '0', limit)) do
	local id = sub(member, 17)
	local _, text = replay_of(id)
	insert(list, id)
	insert(list, text)
end
return reply(list)
