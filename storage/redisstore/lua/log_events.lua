-- Reads up to count of an owner's events from a sequence number on. Returns the number to
-- continue from ('' at the end), then number, id and record of each event. It looks at no more
-- than 1,024 numbers, because many events may have been removed.
local owner, from, count = arg(), tonumber(arg()), tonumber(arg())
local last = tonumber(call('HGET', K.journal, 's' .. owner) or '0')
from = max(from, tonumber(call('HGET', K.firsts, owner) or '1'))
local stop, list, found = min(last, from + 1023), {}, 0
local at = max(from - LONGEST + 1, 1) -- the run that contains from may begin before it
while at <= stop and found < count do
	local fields, numbers, ids = {}, {}, {}
	for first = at, min(at + 127, stop) do insert(fields, run_field(owner, first)) end
	local upto = at + #fields
	for i, run in ipairs(get(K.journal, fields)) do
		local seq = at + i - 1
		for _, id in ipairs(ids_of(run)) do
			if seq >= from and found + #ids < count then
				insert(numbers, hex(seq))
				insert(ids, id)
			end
			seq = seq + 1
		end
		upto = max(upto, seq)
		if found + #ids == count then
			upto = tonumber(numbers[#numbers], 16) + 1
			break
		end
	end
	for i, record in ipairs(get(K.events, ids)) do
		if record and record ~= '' then
			insert(list, numbers[i])
			insert(list, ids[i])
			insert(list, record)
		end
	end
	found = found + #ids
	from, at = upto, upto
end
return reply(from > last and '' or format('%d', from), list)
