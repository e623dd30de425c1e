-- Reads the endpoints of all owners, up to count per call. Returns the position for the next
-- call ('' at the end), then id and stored text of each endpoint.
local beyond, count = arg(), arg()
local members = call('ZRANGEBYLEX', K.endpointorder, beyond == '' and '-' or '(' .. beyond, '+', 'LIMIT', '0', count)
local ids, list = {}, {}
for i, member in ipairs(members) do
	local _, last = find(member, '\0\0', 1, true)
	_, last = find(member, '\0\0', last + 1, true)
	ids[i] = sub(member, last + 17)
end
for i, text in ipairs(get(K.endpoints, ids)) do
	if text then
		insert(list, ids[i])
		insert(list, text)
	end
end
return reply(#members < tonumber(count) and '' or members[#members], list)
