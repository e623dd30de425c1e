-- Every script begins with a generated line, local K = { … }, a table of the script's
-- keys by name, followed by this file.
--
-- A value with several texts consists of fields. A field is a text with its length in front,
-- "3:abc". Members of sorted sets may contain owners and lanes. The caller has escaped these
-- names; no escaped name is a prefix of another. In members, times and numbers are 16
-- hexadecimal digits.
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

-- ARGV[1] is the token, which identifies the call. The reply begins with it. The script's
-- arguments follow; in a script that writes, the header described in write.lua comes first.
local word = 1 -- index of the last argument read

-- arg returns the next argument.
local function arg()
	word = word + 1
	return ARGV[word]
end

-- args returns the next n arguments.
local function args(n)
	word = word + n
	if n <= 1000 then return { unpack(ARGV, word - n + 1, word) } end
	local list = {}
	for i = 1, n do list[i] = ARGV[word - n + i] end
	return list
end

local function reply(...) return { ARGV[1], ... } end

-- field returns the text of the field at a position, and the position after the field.
local function field(text, at)
	local _, colon, length = find(text, '^(%d+):', at)
	local last = colon + length
	return sub(text, colon + 1, last), last + 1
end

local function to_field(text) return #text .. ':' .. text end

local function hex(n) return format('%016x', n) end

-- after returns the smallest text that is greater than every text with this prefix.
local function after(prefix) return sub(prefix, 1, -2) .. char(byte(prefix, -1) + 1) end

-- many calls a command with the items first to last of a list, by default with all. It passes a
-- thousand items per call, because unpack has a limit.
local function many(command, key, list, first, last)
	last = last or #list
	for i = first or 1, last, 1000 do call(command, key, unpack(list, i, min(i + 999, last))) end
end

-- get returns the values of fields of a hash, with false for each missing field.
local function get(key, fields)
	if #fields == 0 then return {} end
	if #fields <= 1000 then return call('HMGET', key, unpack(fields)) end
	local values = {}
	for i = 1, #fields, 1000 do
		for _, v in ipairs(call('HMGET', key, unpack(fields, i, min(i + 999, #fields)))) do insert(values, v) end
	end
	return values
end

