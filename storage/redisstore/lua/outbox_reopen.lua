-- uses: write delivery settled
-- keys: log settledagain
-- Makes final deliveries of an owner open again. What is noted of their events
-- in settled stays there, where it can not be found, and does not count: see
-- settledagain in tidy_events.lua.
local given = answered()
if given then return reply(given[1]) end

local owner, due, ids = arg(), arg(), args(tonumber(arg()))

-- siblings gives the deliveries of an event: their numbers follow each other.
local function siblings(d)
	local at = call('ZRANK', K.log, owner .. d.number .. d.id)
	local first, list = d.number, { to_field(d.id) }
	for _, step in ipairs(at and { -1, 1 } or {}) do
		local i = at + step
		while i >= 0 do
			local member = call('ZRANGE', K.log, format('%d', i), format('%d', i))[1]
			if not member or sub(member, 1, #owner) ~= owner then break end
			local id = sub(member, #owner + 17)
			local value = call('HGET', K.deliveries, id)
			if not value or field(value, 58) ~= d.event then break end
			if step < 0 then
				first = sub(member, #owner + 1, #owner + 16)
				insert(list, 1, to_field(id))
			else
				insert(list, to_field(id))
			end
			i = i + step
		end
	end
	return { left = -1, first = first, ids = concat(list), several = #list > 1, again = true }
end

local open, seen, events = {}, {}, {}
for i, value in ipairs(get(K.deliveries, ids)) do
	local d = value and not seen[ids[i]] and open_delivery(ids[i], value)
	if d and final(d) and d.owner == owner then
		seen[d.id] = true
		insert(open, d)
		if not events[d.event] then
			local text = call('HGET', K.others, d.event)
			events[d.event] = text and { left = tonumber(sub(text, 1, 8), 16), first = sub(text, 9, 24), ids = sub(text, 25), several = true }
				or siblings(d)
		end
		events[d.event].left = events[d.event].left + 1
		events[d.event].place = d.owner .. d.seq
	end
end
for _, d in ipairs(open) do touch(d.lane) end
if #open == 0 then return reply('0') end

answer({ format('%d', #open) })
local records, into, few = {}, {}, {}
for _, d in ipairs(open) do
	local tried = d.attempts % 65536
	insert(records, d.id)
	insert(records, 'p' .. due .. format('%08x', tried * 65537) .. d.number .. d.base)
	insert(into, '0')
	insert(into, d.lane .. due .. d.number .. d.id)
end
for event, e in pairs(events) do
	if e.again then call('HINCRBY', K.settledagain, e.place, '1') end
	if e.several then
		insert(few, event)
		insert(few, format('%08x', e.left) .. e.first .. e.ids)
	end
end
many('HSET', K.deliveries, records)
many('HSET', K.others, few)
many('ZADD', K.queue, into)
relink()
return reply(format('%d', #open))
