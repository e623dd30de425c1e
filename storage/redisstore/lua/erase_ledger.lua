-- Removes ledger entries, without remembering their ids, and at the end the balance.
local members = call('ZRANGEBYLEX', K.ledger, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', STEP)
local ids = {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
local told = { position(#members), format('%d', #members) }

answer(told)
many('HDEL', K.entries, ids)
many('ZREM', K.ledger, members)
if told[1] == '' then call('HDEL', K.balances, owner) end
return reply(unpack(told))
