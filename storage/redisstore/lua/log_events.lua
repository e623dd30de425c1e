-- keys: byowner events seqs firsts
-- Looks on for an owner's events: how far it came, '' for to the end, and
-- number, id, record of each. At most 1,024 numbers are looked at: between
-- those there are may be many that were removed.
local owner, from, count = arg(), tonumber(arg()), tonumber(arg())
local last = tonumber(call('HGET', K.seqs, owner) or '0')
from = max(from, tonumber(call('HGET', K.firsts, owner) or '1'))
local stop, list, found = min(last, from + 1023), {}, 0
while from <= stop and found < count do
	local numbers, ids, fields = {}, {}, {}
	for seq = from, min(from + count - found - 1, stop) do insert(fields, owner .. hex(seq)) end
	for i, id in ipairs(get(K.byowner, fields)) do
		if id then
			insert(numbers, sub(fields[i], -16))
			insert(ids, id)
		end
	end
	for i, record in ipairs(get(K.events, ids)) do
		if record then
			insert(list, numbers[i])
			insert(list, ids[i])
			insert(list, record)
			found = found + 1
		end
	end
	from = from + #fields
end
return reply(from > last and '' or format('%d', from), list)
