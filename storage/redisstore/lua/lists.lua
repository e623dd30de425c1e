-- Pages of sorted sets. All members have score 0, and so are sorted as texts.

-- among counts the members with a prefix, and those before them.
local function among(key, prefix)
	return call('ZLEXCOUNT', key, '[' .. prefix, '(' .. after(prefix)), call('ZLEXCOUNT', key, '-', '(' .. prefix)
end

-- page returns up to size members with a prefix, and the number of all such members. They are
-- in ascending order if asc, otherwise descending. from is the position of the first one in
-- that order, counted from 0.
local function page(key, prefix, asc, from, size)
	local total, before = among(key, prefix)
	size = min(size, total - from)
	if size <= 0 then return {}, total end
	local first = before + from
	if not asc then first = before + total - from - size end
	local members = call('ZRANGE', key, format('%d', first), format('%d', first + size - 1))
	if not asc then
		for i = 1, math.floor(size / 2) do members[i], members[size + 1 - i] = members[size + 1 - i], members[i] end
	end
	return members, total
end

-- passed counts the members with a prefix up to and including the one with the given number, in
-- the order of page.
local function passed(key, prefix, asc, number)
	if asc then return call('ZLEXCOUNT', key, '[' .. prefix, '(' .. after(prefix .. number)) end
	return call('ZLEXCOUNT', key, '[' .. prefix .. number, '(' .. after(prefix))
end

-- scan returns up to count members with a prefix, starting after the member beyond, or at the
-- first if beyond is ''. They are in ascending order if asc, otherwise descending.
local function scan(key, prefix, asc, beyond, count)
	local first, last = '[' .. prefix, '(' .. after(prefix)
	if asc then
		if beyond ~= '' then first = '(' .. beyond end
		return call('ZRANGEBYLEX', key, first, last, 'LIMIT', '0', count)
	end
	if beyond ~= '' then last = '(' .. beyond end
	return call('ZREVRANGEBYLEX', key, last, first, 'LIMIT', '0', count)
end
