-- keys: ledger entries
-- A page of an owner's entries: how many there are; id, record of each.
local owner, asc, from, size = arg(), arg() == '1', tonumber(arg()), tonumber(arg())
local members, total = page(K.ledger, owner, asc, from, size)
local ids, list = {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, record in ipairs(get(K.entries, ids)) do
	insert(list, ids[i])
	insert(list, record)
end
return reply(format('%d', total), list)
