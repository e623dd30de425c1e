-- keys: log deliveries
-- Looks on for deliveries that match: where it came to, and their ids.
local owner, asc, beyond, count = arg(), arg() == '1', arg(), arg()
local source, author, state = arg(), arg(), arg()
local members, ids, matching = scan(K.log, owner, asc, beyond, count), {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, value in ipairs(get(K.deliveries, ids)) do
	if value and (state == '' or state == sub(value, 1, 1)) then
		local _, at, is
		_, at = field(value, 58)
		_, at = field(value, at)
		_, at = field(value, at)
		is, at = field(value, at)
		if (source == '' or source == is) and (author == '' or author == field(value, at)) then insert(matching, ids[i]) end
	end
end
return reply(#members < tonumber(count) and '' or members[#members], matching)
