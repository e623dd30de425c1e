-- Every script begins with this. Before it stands K, its keys by name.
--
-- Texts that hold several parts are made of fields, "3:abc". Names in members
-- of sorted sets are escaped by the caller, so that none is the beginning of
-- another. Times and numbers to sort by are 16 hexadecimal digits.
local call = redis.call
local sub = string.sub
local find = string.find
local byte = string.byte
local char = string.char
local format = string.format
local concat = table.concat
local insert = table.insert
local min = math.min
local max = math.max

-- ARGV: the token to echo, three words for writes (see write.lua), and the rest.
local word = 4
local function arg()
	word = word + 1
	return ARGV[word]
end

local function args(n)
	word = word + n
	if n <= 1000 then return { unpack(ARGV, word - n + 1, word) } end
	local list = {}
	for i = 1, n do list[i] = ARGV[word - n + i] end
	return list
end

local function reply(...) return { ARGV[1], ... } end

local function field(text, at)
	local colon = find(text, ':', at, true)
	local last = colon + tonumber(sub(text, at, colon - 1))
	return sub(text, colon + 1, last), last + 1
end

local function to_field(text) return #text .. ':' .. text end

local function hex(n) return format('%016x', n) end

-- after is the smallest text above all that begin with a prefix.
local function after(prefix) return sub(prefix, 1, -2) .. char(byte(prefix, -1) + 1) end

-- many gives a command a list of any length, or a part of it; unpack has a
-- limit.
local function many(command, key, list, first, last)
	last = last or #list
	for i = first or 1, last, 1000 do call(command, key, unpack(list, i, min(i + 999, last))) end
end

-- get reads fields of a hash, false for those that are not there.
local function get(key, fields)
	if #fields == 0 then return {} end
	if #fields <= 1000 then return call('HMGET', key, unpack(fields)) end
	local values = {}
	for i = 1, #fields, 1000 do
		for _, v in ipairs(call('HMGET', key, unpack(fields, i, min(i + 999, #fields)))) do insert(values, v) end
	end
	return values
end

-- among counts the members with a prefix, and those before them.
local function among(key, prefix)
	return call('ZLEXCOUNT', key, '[' .. prefix, '(' .. after(prefix)), call('ZLEXCOUNT', key, '-', '(' .. prefix)
end

-- page gives the members with a prefix from number from, counted from 0 and
-- backwards unless asc, and how many there are in all.
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

-- passed counts the members with a prefix up to a number that stands behind it, in
-- the order of page.
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
