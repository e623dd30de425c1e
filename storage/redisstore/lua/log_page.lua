-- uses: entries
-- keys: log
-- A page of all that an owner has: how many there are, the ids on the page, and
-- the first of them whole.
local owner, asc, from, size, whole = arg(), arg() == '1', tonumber(arg()), tonumber(arg()), tonumber(arg())
local ids, total = page(K.log, owner, asc, from, size)
for i, member in ipairs(ids) do ids[i] = sub(member, #owner + 17) end
local first = {}
for i = 1, min(whole, #ids) do first[i] = ids[i] end
return reply(format('%d', total), ids, log_entries(first))
