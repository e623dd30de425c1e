-- Reads a page of an owner's deliveries (list is log) or entries (ledger), from a position or after
-- a number. Replies with how many there are in all, '1' if more follow, and number and id of each,
-- in one text.
local key = ({ log = K.log, ledger = K.ledger })[arg()]
local owner, asc, from, size, behind = arg(), arg() == '1', tonumber(arg()), tonumber(arg()), arg()
if behind ~= '' then from = passed(key, owner, asc, behind) end
local members, total = page(key, owner, asc, from, size)
for i, member in ipairs(members) do members[i] = sub(member, #owner + 1) end
return reply(format('%d', total), from + #members < total and '1' or '', members)
