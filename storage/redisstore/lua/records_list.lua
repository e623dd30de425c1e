-- Reads a page of an owner's records with a status ('' for any), and the number of such
-- records.
local owner, status, from, size = arg(), arg(), tonumber(arg()), tonumber(arg())
local ids, total
if status == '' then
	ids, total = page(K.order, owner, true, from, size)
	for i, member in ipairs(ids) do ids[i] = sub(member, #owner + 17) end
else
	local all, beyond = {}, ''
	repeat
		local members = scan(K.order, owner, true, beyond, '1000')
		for _, member in ipairs(members) do insert(all, sub(member, #owner + 17)) end
		beyond = members[1000]
	until not beyond
	ids, total = {}, 0
	for i, meta in ipairs(get(K.meta, all)) do
		local _, at, is
		_, at = field(meta, 1)
		_, at = field(meta, at)
		is = field(meta, at)
		if is == status then
			total = total + 1
			if total > from and #ids < size then insert(ids, all[i]) end
		end
	end
end
return reply(format('%d', total), get(K.records, ids))
