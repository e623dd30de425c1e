-- Pages of sorted sets whose members have score 0, and so are sorted as texts.

-- among counts the members with a prefix, and those before them.
local function among(key, prefix)
	return call('ZLEXCOUNT', key, '[' .. prefix, '(' .. after(prefix)), call('ZLEXCOUNT', key, '-', '(' .. prefix)
end

-- page gives size members with a prefix, from the one at position from, which is
-- counted from 0 and from the end unless asc, and how many have the prefix.
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

-- passed counts the members with a prefix up to the one whose number follows the
-- prefix, in the order of page.
local function passed(key, prefix, asc, number)
	if asc then return call('ZLEXCOUNT', key, '[' .. prefix, '(' .. after(prefix .. number)) end
	return call('ZLEXCOUNT', key, '[' .. prefix .. number, '(' .. after(prefix))
end

-- scan gives up to count members with a prefix beyond one of them, '' for the
-- beginning, backwards unless asc.
local function scan(key, prefix, asc, beyond, count)
	local first, last = '[' .. prefix, '(' .. after(prefix)
	if asc then
		if beyond ~= '' then first = '(' .. beyond end
		return call('ZRANGEBYLEX', key, first, last, 'LIMIT', '0', count)
	end
	if beyond ~= '' then last = '(' .. beyond end
	return call('ZREVRANGEBYLEX', key, last, first, 'LIMIT', '0', count)
end
