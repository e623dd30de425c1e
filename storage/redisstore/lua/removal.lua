-- Retention removes settled events (those without open deliveries), remembered ids and ledger
-- entries that are too old or too many. Calls that write remove a few of each at their end.
-- Each list has the oldest item first, and an item begins with a time.
--
-- The limits are the first arguments after the header of write.lua. Three times come first:
-- settled events, ids and entries up to these are too old. Then comes the maximum number of
-- each. Last is step: a call removes up to step of each, plus twice as many as it adds.
local old_event, old_id, old_entry = arg(), arg(), arg()
local max_events, max_ids, max_entries, step = tonumber(arg()), tonumber(arg()), tonumber(arg()), tonumber(arg())

-- head returns up to most items from the start of a list that must go: those with a time up to
-- before, and those that are too many. command (HLEN or LLEN) on the key counted, minus stay,
-- gives how many are too many.
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

-- forget_ids removes up to most ids that are too old or too many. key is a hash of ids, order the
-- list of the same ids in order of age.
local function forget_ids(key, order, most)
	local list = head(order, 'LLEN', order, max_ids, old_id, most)
	if #list == 0 then return end
	local ids = {}
	for i, e in ipairs(list) do ids[i] = sub(e, 17) end
	many('HDEL', key, ids)
	drop(order, #list)
end

-- remember adds the ids of removed records to the hash key and to the list order.
local function remember(key, order, ids)
	local known, list = {}, {}
	for i, id in ipairs(ids) do
		known[2 * i - 1], known[2 * i] = id, ''
		list[i] = now .. id
	end
	many('HSET', key, known)
	many('RPUSH', order, list)
end
