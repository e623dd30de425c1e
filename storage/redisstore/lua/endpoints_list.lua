-- Reads the endpoints of an owner or of one source: id and stored text of each.
local prefix = arg()
local ids, list = {}, {}
for i, member in ipairs(call('ZRANGEBYLEX', K.endpointorder, '[' .. prefix, '(' .. after(prefix))) do
	local _, last = find(member, '\0\0', 1, true)
	_, last = find(member, '\0\0', last + 1, true)
	ids[i] = sub(member, last + 17)
end
for i, text in ipairs(get(K.endpoints, ids)) do
	insert(list, ids[i])
	insert(list, text)
end
return reply(list)
