-- uses: limits
-- Removes some of what is too old or too much, at the end of calls that write.
-- The lists have the oldest first; what is in them begins with a time.

-- head gives the first of a list that are of before or earlier, or too many: of
-- sized, by the command size, no more than stay.
local function head(key, size, sized, stay, before, most)
	local first = call('LINDEX', key, '0')
	if not first then return {} end
	local excess = call(size, sized) - stay
	if excess <= 0 and sub(first, 1, 16) > before then return {} end
	local list = call('LRANGE', key, '0', format('%d', most - 1))
	local n = 0
	while n < #list and (n < excess or sub(list[n + 1], 1, 16) <= before) do n = n + 1 end
	for i = n + 1, #list do list[i] = nil end
	return list
end

local function drop(key, n) call('LTRIM', key, format('%d', n), '-1') end

-- forget_ids ends the memory of ids, of hash and list.
local function forget_ids(key, order, most)
	local list = head(order, 'LLEN', order, max_ids, old_id, most)
	if #list == 0 then return end
	local ids = {}
	for i, e in ipairs(list) do ids[i] = sub(e, 17) end
	many('HDEL', key, ids)
	drop(order, #list)
end

-- remember keeps ids for a while, in hash and list.
local function remember(key, order, ids)
	local known, list = {}, {}
	for i, id in ipairs(ids) do
		known[2 * i - 1], known[2 * i] = id, ''
		list[i] = now .. id
	end
	many('HSET', key, known)
	many('RPUSH', order, list)
end
