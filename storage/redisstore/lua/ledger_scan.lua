-- Looks at up to count of an owner's entries. Returns the position for the next call ('' at the
-- end), then number and id, in one text, of each entry that matches.
local owner, asc, beyond, count, source, since, till = arg(), arg() == '1', arg(), arg(), arg(), arg(), arg()
local members, ids, list = scan(K.ledger, owner, asc, beyond, count), {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, record in ipairs(get(K.entries, ids)) do
	if record then
		local _, at, from
		_, at = field(record, 1)
		_, at = field(record, at)
		_, at = field(record, at)
		from, at = field(record, at)
		if (source == '' or source == from) and within(instant(record, skip_text(record, at + 1)), since, till) then
			insert(list, sub(members[i], #owner + 1))
		end
	end
end
return reply(#members < tonumber(count) and '' or members[#members], list)
