-- Reads a page of an owner's entries, from a position or after a number. Returns how many
-- entries the owner has, '1' if more follow, and two texts for each: number and id, record.
local owner, asc, from, size, behind = arg(), arg() == '1', tonumber(arg()), tonumber(arg()), arg()
if behind ~= '' then from = passed(K.ledger, owner, asc, behind) end
local members, total = page(K.ledger, owner, asc, from, size)
local ids, list = {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for i, record in ipairs(get(K.entries, ids)) do
	insert(list, sub(members[i], #owner + 1))
	insert(list, record)
end
return reply(format('%d', total), from + #members < total and '1' or '', list)
