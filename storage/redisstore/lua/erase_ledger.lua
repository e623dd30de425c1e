-- Removes up to limit of an owner's ledger entries, without remembering their ids. If there are
-- none left, removes the balance. Replies with the number of entries removed.
local given = answered()
if given then return reply(given[1]) end

local owner, limit = arg(), arg()
local members = call('ZRANGEBYLEX', K.ledger, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)
local ids = {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end

answer({ format('%d', #members) })
many('HDEL', K.entries, ids)
many('ZREM', K.ledger, members)
if #members == 0 then call('HDEL', K.balances, owner) end
return reply(format('%d', #members))
