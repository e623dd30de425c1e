local function record_text(r)
	local parts = {}
	for i, name in ipairs(record_fields) do parts[i] = to_field(r[name]) end
	return concat(parts)
end

-- group is like group in record.go.
local function group(owner, kind, parent, status) return 'g' .. owner .. kind .. to_field(parent) .. to_field(status) end

local function groups_of(r)
	local list = {}
	for _, parent in ipairs(r.parent == '' and { '' } or { '', r.parent }) do
		for _, status in ipairs(r.status == '' and { '' } or { '', r.status }) do insert(list, group(r.owner, r.kind, parent, status)) end
	end
	return list
end

-- places_of returns the members of a record in recordorder.
local function places_of(r)
	local list = groups_of(r)
	insert(list, 'k' .. r.kind)
	for i, begin in ipairs(list) do list[i] = begin .. r.number .. r.key end
	return list
end

-- names_of returns the fields of a record in recordnames. r may be false.
local function names_of(r)
	local list = {}
	if r and r.name ~= '' then insert(list, 'n' .. r.owner .. r.kind .. to_field(r.parent) .. r.name) end
	if r and r.lookup ~= '' then insert(list, 'l' .. r.kind .. r.lookup) end
	return list
end

-- children_of returns the keys of the endpoints of a monitor or rule, in order.
local function children_of(owner, key)
	local prefix = group(owner, '8:endpoint', key, '')
	local keys = call('ZRANGEBYLEX', K.recordorder, '[' .. prefix, '(' .. after(prefix))
	for i, member in ipairs(keys) do keys[i] = sub(member, #prefix + 17) end
	return keys
end
