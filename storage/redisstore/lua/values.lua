-- Values of record.State. A name has a field for the space, the owner, and the id. The hash
-- values has for each name fields for owner, version (16 digits) and the time when its ttl is
-- over ('' for never), then the data. Field v of count is the last version.
--
-- valueorder is sorted, and has three members for each value with a ttl. Field w of count is the
-- number of bytes of these values.
--
--   v, version, name
--   o, owner, version, name
--   t, time when the ttl is over, name

-- value_of returns a value, or nil if there is none.
local function value_of(name)
	local text = call('HGET', K.values, name)
	if not text then return nil end
	local v, at = { name = name }, 1
	v.owner, at = field(text, at)
	v.version, at = field(text, at)
	v.ends, at = field(text, at)
	v.data = sub(text, at)
	return v
end

local function remove_value(v)
	call('HDEL', K.values, v.name)
	if v.ends == '' then return end
	call('ZREM', K.valueorder, 'v' .. v.version .. v.name, 'o' .. v.owner .. v.version .. v.name, 't' .. v.ends .. v.name)
	call('HINCRBY', K.count, 'w', format('%d', -#v.data))
end

-- values_with returns the names of up to limit values with a prefix of valueorder. last is the
-- greatest prefix of them. 16 digits and the name follow the prefix.
local function values_with(prefix, last, limit)
	local names = call('ZRANGEBYLEX', K.valueorder, '[' .. prefix, '(' .. after(last), 'LIMIT', '0', limit)
	for i, member in ipairs(names) do names[i] = sub(member, #prefix + 17) end
	return names
end
