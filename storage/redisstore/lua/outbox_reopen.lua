-- Makes final deliveries of an owner pending again.
local given = answered()
if given then return reply(given[1]) end

local owner, due, ids = arg(), arg(), args(tonumber(arg()))
local seen = {}
for i, value in ipairs(get(K.deliveries, ids)) do
	local d = value and not seen[ids[i]] and open_delivery(ids[i], value)
	if d and final(d) and d.owner == owner then
		seen[d.id] = true
		try_reopen(d)
	end
end
if #reopened == 0 then return reply('0') end

answer({ format('%d', #reopened) })
keep_reopened(due)
relink()
return reply(format('%d', #reopened))
