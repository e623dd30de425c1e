-- Looks at up to count of an owner's deliveries. Returns the position for the next call ('' at
-- the end), then number and id, in one text, of each delivery that matches.
local owner, asc, beyond, count = arg(), arg() == '1', arg(), arg()
local source, author, state, with, without, kind, since, till, only = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
local members, ids, matching, events = scan(K.log, owner, asc, beyond, count), {}, {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, value in ipairs(get(K.deliveries, ids)) do
	if value and (state == '' or state == sub(value, 1, 1)) then
		local _, at, lane, from, by
		_, at = field(value, 58)
		_, at = field(value, at)
		lane, at = field(value, at)
		from, at = field(value, at)
		by, at = field(value, at)
		if (only == '' or only == lane) and (source == '' or source == from) and (author == '' or author == by)
			and (with == '' or sub(lane, 3, #with + 2) == with) and (without == '' or sub(lane, 3, #without + 2) ~= without)
			and (kind == '' or kind == field(value, at)) then
			insert(matching, sub(members[i], #owner + 1))
			insert(events, (field(value, 58)))
		end
	end
end
if since ~= '' or till ~= '' then
	local all = matching
	matching = {}
	for i, event in ipairs(get(K.events, events)) do
		if event and event ~= '' then
			local at = 2
			for _ = 1, 8 do at = skip_text(event, at) end
			if within(instant(event, at + 32), since, till) then insert(matching, all[i]) end -- the fifth time in the record
		end
	end
end
return reply(#members < tonumber(count) and '' or members[#members], matching)
