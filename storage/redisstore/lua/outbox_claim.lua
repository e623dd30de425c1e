-- Claims deliveries that are due at a moment, the longest due first: they become due again
-- when the lease ends. It looks at the first delivery of each lane, so that leaving out a
-- lane takes one step, however many deliveries that has.
local moment, ends, limit = arg(), arg(), tonumber(arg())
local skip = {}
for _, lane in ipairs(args(tonumber(arg()))) do skip[lane] = true end

-- found returns the deliveries that an earlier attempt of this call claimed, except those
-- settled or claimed again since then, and their events.
local function found(ids)
	local list, values = {}, {}
	for i, value in ipairs(get(K.deliveries, ids)) do
		if value and sub(value, 2, 17) == ends then
			insert(list, ids[i])
			insert(list, value)
			insert(values, value)
		end
	end
	return list, with_events(values)
end

local given = answered()
if given then
	local list, events = found(given)
	return reply(list, events, {})
end

-- The deliveries to claim are in the lanes whose first deliveries are the longest due.
local order, from = {}, '-'
repeat
	local lanes = call('ZRANGEBYLEX', K.lanes, from, '(' .. after(moment), 'LIMIT', '0', '100')
	for _, l in ipairs(lanes) do
		local name = sub(l, 33)
		if not skip[name] and #order < limit then insert(order, { name = name, key = sub(l, 1, 32), at = 0, list = {} }) end
	end
	from = '(' .. (lanes[100] or '')
until #lanes < 100 or #order == limit

-- advance moves a lane to its next delivery that is due. The lane's key is nil if there is
-- none.
local share = math.floor(limit / max(#order, 1)) + 1
local function advance(lane)
	lane.at = lane.at + 1
	if lane.at > #lane.list and not lane.ended then
		local first = lane.list[#lane.list]
		lane.size = (lane.size or share / 2) * 2
		lane.list = call('ZRANGEBYLEX', K.queue, first and '(' .. first or '[' .. lane.name, '(' .. lane.name .. after(moment),
			'LIMIT', '0', format('%d', lane.size))
		lane.at, lane.ended = 1, #lane.list < lane.size
	end
	lane.member = lane.list[lane.at]
	lane.key = lane.member and sub(lane.member, #lane.name + 1, #lane.name + 32)
end

local ids, members, into = {}, {}, {}
for _, lane in ipairs(order) do touched[lane.name] = lane.key end
for _, lane in ipairs(order) do advance(lane) end
local top = 1 -- order is sorted from here on
while #ids < limit and top <= #order do
	local lane = order[top]
	if lane.key then
		insert(members, lane.member)
		insert(ids, sub(lane.member, #lane.name + 33))
		insert(into, '0')
		insert(into, lane.name .. ends .. sub(lane.key, 17) .. ids[#ids])
		advance(lane)
	end
	if not lane.key then
		top = top + 1
	else
		local i = top
		while order[i + 1] and order[i + 1].key < lane.key do
			order[i] = order[i + 1]
			i = i + 1
		end
		order[i] = lane
	end
end

-- A member of the queue whose delivery or event is missing is removed, and reported to the
-- caller.
local kept, values, records, lost, back = {}, {}, {}, {}, {}
local is = get(K.deliveries, ids)
for i, value in ipairs(is) do
	if value then insert(values, value) end
end
local events, there = with_events(values), {}
for i = 1, #events, 2 do there[events[i]] = true end
for i, value in ipairs(is) do
	if value and there[(field(value, 58))] then
		value = sub(value, 1, 1) .. ends .. sub(value, 18)
		insert(kept, ids[i])
		insert(records, ids[i])
		insert(records, value)
		insert(back, '0')
		insert(back, into[2 * i])
	else
		insert(lost, ids[i])
	end
end
if #ids == 0 then return reply({}, {}, {}) end

answer(kept)
many('ZREM', K.queue, members)
many('ZADD', K.queue, back)
many('HSET', K.deliveries, records)
relink()
return reply(records, events, lost)
