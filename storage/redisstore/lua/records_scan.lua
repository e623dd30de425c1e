-- Reads the records of all owners, up to count per call. Returns the position for the next call
-- ('' at the end), then the records.
local beyond, count = arg(), arg()
local members = call('ZRANGEBYLEX', K.order, beyond == '' and '-' or '(' .. beyond, '+', 'LIMIT', '0', count)
local ids = {}
for i, member in ipairs(members) do
	-- A member is an escaped owner, which ends in two NUL, 16 digits and the id.
	local _, last = find(member, '\0\0', 1, true)
	ids[i] = sub(member, last + 17)
end
return reply(#members < tonumber(count) and '' or members[#members], get(K.records, ids))
