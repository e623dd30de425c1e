-- Reads the balance of an owner, and the amounts of its expired reservations that no write
-- has given back yet.
local owner, now = arg(), arg()
local expired, ids = {}, {}
for i, e in ipairs(call('ZRANGEBYLEX', K.expiring, '-', '(' .. after(now))) do ids[i] = sub(e, 17) end
for _, held in ipairs(get(K.holds, ids)) do
	if held then
		local of, at = field(held, 1)
		if of == owner then insert(expired, (field(held, at))) end
	end
end
return reply(call('HGET', K.balances, owner) or '0 0', expired)
