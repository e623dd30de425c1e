-- Writes records of a copy, those of a kind in the order of their numbers. Arguments: where the copy
-- stands, in two texts, and where it goes on, in three; the number of records, and the values of each.
local given = answered()
if given then return reply('done') end

if moved(arg(), arg()) then return reply('moved') end
local part, after_row, n = arg(), arg(), arg()
local list, sums, active = {}, {}, {}
for i = 1, tonumber(arg()) do
	local r = { key = arg() }
	for _, name in ipairs(record_fields) do r[name] = arg() end
	r.data = arg()
	split_key(r)
	list[i] = r
	for _, group in ipairs(groups_of(r)) do
		if not sums[group] then
			local _, _, number, size, price = find(call('HGET', K.recordsums, group) or '0 0 0', '^(%S+) (%S+) (%S+)$')
			sums[group] = { amount(number), amount(size), amount(price) }
		end
		for k, text in ipairs({ '1', r.size, r.price }) do sums[group][k] = plus(sums[group][k], amount(text)) end
	end
	if r.lane ~= '' and r.status == 'active' then -- see b in runs.lua
		local name = 'b' .. r.owner .. r.parent
		active[name] = (active[name] or call('HGET', K.journal, name) or '') .. to_field(r.id)
	end
end
answer({})
for _, r in ipairs(list) do
	call('HSET', K.records, r.key, record_text(r))
	call('HSET', K.recorddata, r.key, r.data)
	for _, place in ipairs(places_of(r)) do call('ZADD', K.recordorder, '0', place) end
	for _, name in ipairs(names_of(r)) do call('HSET', K.recordnames, name, r.key) end
end
for group, s in pairs(sums) do
	call('HSET', K.recordsums, group, signed_text(s[1]) .. ' ' .. signed_text(s[2]) .. ' ' .. signed_text(s[3]))
end
for name, ids in pairs(active) do call('HSET', K.journal, name, ids) end
keep_place(part, after_row, n)
return reply('done')
