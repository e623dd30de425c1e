-- Reads a page of an owner's deliveries, from a position or after a number. Returns how many
-- deliveries the owner has; the number of the page's last one, or '' if none follow; the ids on the
-- page; and the first whole of these deliveries in full, with their events.
local owner, asc, from, size, whole, behind = arg(), arg() == '1', tonumber(arg()), tonumber(arg()), tonumber(arg()), arg()
if behind ~= '' then from = passed(K.log, owner, asc, behind) end
local ids, total = page(K.log, owner, asc, from, size)
local last = ''
if #ids > 0 and from + #ids < total then last = sub(ids[#ids], #owner + 1, #owner + 16) end
for i, member in ipairs(ids) do ids[i] = sub(member, #owner + 17) end
local first = {}
for i = 1, min(whole, #ids) do first[i] = ids[i] end
return reply(format('%d', total), last, ids, log_entries(first))
