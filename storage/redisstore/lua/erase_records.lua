-- Removes up to limit of an owner's records, and the totals of their ledger entries: see
-- records_delete.lua. Replies with the number of records removed.
local given = answered()
if given then return reply(given[1]) end

local owner, charged, limit = arg(), arg(), arg()
local members = call('ZRANGEBYLEX', K.order, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)
local ids, names, sums = {}, {}, {}
for i, member in ipairs(members) do
	ids[i] = sub(member, #owner + 17)
	local m = meta(ids[i], owner)
	if m then insert(names, m.name) end
	if charged ~= '' then sums[i] = to_field(charged) .. owner .. ids[i] end
end

answer({ format('%d', #members) })
many('HDEL', K.names, names)
many('HDEL', K.meta, ids)
many('HDEL', K.records, ids)
many('ZREM', K.order, members)
many('HDEL', K.totals, sums)
return reply(format('%d', #members))
