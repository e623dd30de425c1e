-- Reads the records of all owners, one part per call. Returns the start of the next part
-- ('' at the end), then the records.
local beyond, count = arg(), arg()
local members = call('ZRANGEBYLEX', K.order, beyond == '' and '-' or '(' .. beyond, '+', 'LIMIT', '0', count)
local ids = {}
for i, member in ipairs(members) do
	-- the owner is escaped, and ends in two NUL; after it come 16 digits
	local _, last = find(member, '\0\0', 1, true)
	ids[i] = sub(member, last + 17)
end
return reply(#members < tonumber(count) and '' or members[#members], get(K.records, ids))
