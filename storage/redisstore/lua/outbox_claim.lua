-- Claims up to limit due deliveries, earliest due first: sets their due time to the end of the
-- lease. Skipping a lane or a part takes one step, however many deliveries it has.
local moment, ends, limit, wanted = arg(), arg(), tonumber(arg()), arg()
local skip, skipped = {}, tonumber(arg())
for _, lane in ipairs(args(skipped)) do skip[lane] = true end

-- found returns the deliveries that an earlier attempt of this call claimed, and their events.
-- It omits deliveries that were settled or claimed again after that attempt.
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

-- The script merges the due deliveries of all lanes, ordered by key: due and number. The key of
-- a lane or part is that of its first delivery. order has items: parts, which lead to lanes,
-- and lanes, which lead to deliveries. An item reads a few of its members at a time. A member
-- consists of the item's name, a key, and a lane or the id of a delivery. Each part has a
-- delivery to claim unless it contains a lane to skip. Therefore limit + skipped parts are
-- enough.
local order, from, enough = {}, '-', limit + skipped
repeat
	local turns = call('ZRANGEBYLEX', K.turns, from, '(' .. after(moment), 'LIMIT', '0', '100')
	for _, t in ipairs(turns) do
		if #order < enough and in_parts(wanted, t) then insert(order, { name = sub(t, 33), key = sub(t, 1, 32), from = K.lanes }) end
	end
	from = '(' .. (turns[100] or '')
until #turns < 100 or #order >= enough

-- advance moves a part to its next due lane, or a lane to its next due delivery. If there is
-- none, it sets the item's key to nil.
local share = math.floor(limit / max(#order, 1)) + 1
local function advance(item)
	item.at = (item.at or 0) + 1
	if not item.list or item.at > #item.list and not item.ended then
		local key, last = item.from, item.list and item.list[#item.list]
		item.size = (item.size or share / 2) * 2
		item.list = call('ZRANGEBYLEX', key, last and '(' .. last or '[' .. item.name, '(' .. item.name .. after(moment),
			'LIMIT', '0', format('%d', item.size))
		item.at, item.ended = 1, #item.list < item.size
	end
	item.member = item.list[item.at]
	item.key = item.member and sub(item.member, #item.name + 1, #item.name + 32)
end

-- order is a heap by key. The first item is at 1. The children of item i are at 2 i and 2 i +
-- 1. The parts were read in order of key, which is a valid heap.
local size = #order

-- sink replaces the first item of the heap, and moves the new one down to its place.
local function sink(item)
	local i, below = 1, 2
	while below <= size do
		if below < size and order[below + 1].key < order[below].key then below = below + 1 end
		if item.key < order[below].key then break end
		order[i] = order[below]
		i, below = below, 2 * below
	end
	order[i] = item
end

-- rise adds an item at the end of the heap, and moves it up to its place.
local function rise(item)
	size = size + 1
	local i = size
	while i > 1 do
		local above = math.floor(i / 2)
		if order[above].key < item.key then break end
		order[i] = order[above]
		i = above
	end
	order[i] = item
end

local ids, members, into = {}, {}, {}
while #ids < limit and size > 0 do
	local item, lane = order[1]
	if not item.list then advance(item) end -- to the first, which has its key
	local key, what = item.key, sub(item.member, #item.name + 33)
	if item.from == K.queue then
		insert(members, item.member)
		insert(ids, what)
		insert(into, '0')
		insert(into, item.name .. ends .. sub(key, 17) .. what)
	elseif not skip[what] then
		lane = { name = what, key = key, from = K.queue }
		touched[what] = key
	end
	advance(item)
	if lane then -- the lane has the key that its part had, so it takes the part's place
		order[1] = lane
		if item.key then rise(item) end
	elseif item.key then
		sink(item)
	else
		local last = order[size]
		order[size], size = nil, size - 1
		if size > 0 then sink(last) end
	end
end

-- A queued delivery without a record or event is removed from the queue. The reply lists its
-- id, to be logged.
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
