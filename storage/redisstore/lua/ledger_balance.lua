-- Reads an owner's balance, and the amounts of its reservations that have expired and are not
-- given back yet.
local owner, now = arg(), arg()
local ids, held = call('ZRANGEBYLEX', K.expiring, '-', '(' .. after(now)), {}
for i, e in ipairs(ids) do ids[i] = sub(e, 17) end
for _, text in ipairs(get(K.holds, ids)) do
	if text then
		local of, at = field(text, 1)
		if of == owner then insert(held, (field(text, at))) end
	end
end
return reply(call('HGET', K.balances, owner) or '0 0', held)
