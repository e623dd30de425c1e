-- Reads a page of the records with a prefix of recordorder, and of a kind and status. kind is ''
-- if all members with the prefix match, status is '' for any. Replies with the number of all
-- that match, then key, text and data of each record of the page in three lists.
local prefix, kind, status, from, size = arg(), arg(), arg(), tonumber(arg()), tonumber(arg())
local keys, total
if kind == '' then
	keys, total = page(K.recordorder, prefix, true, from, size)
	for i, member in ipairs(keys) do keys[i] = sub(member, #prefix + 17) end
else
	local all = keys_with(prefix)
	keys, total = {}, 0
	for i, text in ipairs(get(K.records, all)) do
		local r = parse_record(all[i], text)
		if r.kind == kind and (status == '' or r.status == status) then
			total = total + 1
			if total > from and #keys < size then insert(keys, r.key) end
		end
	end
end
return reply(format('%d', total), keys, get(K.records, keys), get(K.recorddata, keys))
