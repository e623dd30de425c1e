-- Removes up to limit of an owner's entries, of which no id stays, with the totals of their
-- sources, and with the last of them the balance. The answer is how many.
local given = answered()
if given then return reply(given[1]) end

local owner, limit = arg(), arg()
local members = call('ZRANGEBYLEX', K.ledger, '[' .. owner, '(' .. after(owner), 'LIMIT', '0', limit)
local ids, sums = {}, {}
for i, member in ipairs(members) do ids[i] = sub(member, #owner + 17) end
for _, text in ipairs(get(K.entries, ids)) do
	if text then
		local at, _, source = 1
		for _ = 1, 3 do
			_, at = field(text, at)
		end
		source = field(text, at)
		for _, kind in ipairs({ 'monitor', 'rule' }) do insert(sums, to_field(kind) .. owner .. source) end
	end
end

answer({ format('%d', #members) })
many('HDEL', K.entries, ids)
many('HDEL', K.totals, sums)
many('ZREM', K.ledger, members)
if #members == 0 then call('HDEL', K.balances, owner) end
return reply(format('%d', #members))
