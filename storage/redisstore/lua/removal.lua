-- Retention removes settled events, ids and entries that are too old or too many. Calls
-- that write remove a few of each at their end. In the lists the oldest are first, and each
-- item begins with a time.
--
-- The limits are the first arguments after the header of write.lua: the times at or before
-- which settled events, ids and entries are too old, how many of each may stay, and how
-- many a call removes in addition to twice as many as it adds.
local old_event, old_id, old_entry = arg(), arg(), arg()
local max_events, max_ids, max_entries, step = tonumber(arg()), tonumber(arg()), tonumber(arg()), tonumber(arg())

-- head returns the first items of a list, up to most, that are too old, with a time up to
-- before, or too many. There are too many if command, HLEN or LLEN, counts more than stay
-- in the key counted.
local function head(key, command, counted, stay, before, most)
	local first = call('LINDEX', key, '0')
	if not first then return {} end
	local excess = call(command, counted) - stay
	if excess <= 0 and sub(first, 1, 16) > before then return {} end
	local list = call('LRANGE', key, '0', format('%d', most - 1))
	local n = 0
	while n < #list and (n < excess or sub(list[n + 1], 1, 16) <= before) do n = n + 1 end
	for i = n + 1, #list do list[i] = nil end
	return list
end

-- drop removes the first n items of a list.
local function drop(key, n) call('LTRIM', key, format('%d', n), '-1') end

-- forget_ids removes the oldest ids, up to most, from a hash and the list of their order.
local function forget_ids(key, order, most)
	local list = head(order, 'LLEN', order, max_ids, old_id, most)
	if #list == 0 then return end
	local ids = {}
	for i, e in ipairs(list) do ids[i] = sub(e, 17) end
	many('HDEL', key, ids)
	drop(order, #list)
end

-- remember adds ids to a hash and the list of their order: what had them is removed, and
-- they stay known for a while.
local function remember(key, order, ids)
	local known, list = {}, {}
	for i, id in ipairs(ids) do
		known[2 * i - 1], known[2 * i] = id, ''
		list[i] = now .. id
	end
	many('HSET', key, known)
	many('RPUSH', order, list)
end
