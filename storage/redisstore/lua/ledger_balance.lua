-- Reads an owner's balance, and the amounts of its reservations that have expired and are not
-- given back yet. If more than most reservations of all owners have expired, it replies
-- 'expired': see expire in account.lua.
local owner, now, most = arg(), arg(), tonumber(arg())
local ids, held = call('ZRANGEBYLEX', K.expiring, '-', '(' .. after(now), 'LIMIT', '0', format('%d', most + 1)), {}
if #ids > most then return reply('expired') end
for i, e in ipairs(ids) do ids[i] = sub(e, 17) end
for _, text in ipairs(get(K.holds, ids)) do
	if text then
		local of, at = field(text, 1)
		if of == owner then insert(held, (field(text, at))) end
	end
end
return reply('done', call('HGET', K.balances, owner) or '0 0', held)
