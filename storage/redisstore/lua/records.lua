-- Records of record.Store. A record's kind is a field ("7:monitor"), and its key is kind and
-- id. The hash records has the fields below, by key. parent is a key, or '' if there is none.
-- lane is an endpoint's lane in queue, '' for other kinds. The hash recorddata has the data.
--
-- recordorder is sorted, and has several members for each record. All of them end in number
-- (16 digits) and key, and so are in order of creation. They begin with:
--
--   k, kind
--   o, owner, kind
--   s, owner, kind, field for the status
--   p, owner, field for the parent's key   only if there is a parent
--
-- journal lists the active endpoints of each parent: see e in runs.lua.
local record_fields = { 'owner', 'parent', 'name', 'lookup', 'status', 'size', 'price', 'version', 'number', 'created', 'updated', 'lane', 'note' }

local function split_key(r)
	local _, id = field(r.key, 1)
	r.kind, r.id = sub(r.key, 1, id - 1), sub(r.key, id)
end

-- parse_record returns a record without data. text may be false, for none.
local function parse_record(key, text)
	if not text then return false end
	local r, at = { key = key }, 1
	for _, name in ipairs(record_fields) do r[name], at = field(text, at) end
	split_key(r)
	return r
end

-- record_of returns an owner's record, or nil if there is none.
local function record_of(key, owner)
	local r = parse_record(key, call('HGET', K.records, key))
	return r and r.owner == owner and r or nil
end

local function record_text(r)
	local parts = {}
	for i, name in ipairs(record_fields) do parts[i] = to_field(r[name]) end
	return concat(parts)
end

local function children_of(owner, key) return 'p' .. owner .. to_field(key) end

-- places_of returns the members of a record in recordorder.
local function places_of(r)
	local tail, of = r.number .. r.key, r.owner .. r.kind
	local list = { 'k' .. r.kind .. tail, 'o' .. of .. tail, 's' .. of .. to_field(r.status) .. tail }
	if r.parent ~= '' then list[4] = children_of(r.owner, r.parent) .. tail end
	return list
end

-- keys_with returns the keys of the records with a prefix of recordorder, in order.
local function keys_with(prefix)
	local keys = call('ZRANGEBYLEX', K.recordorder, '[' .. prefix, '(' .. after(prefix))
	for i, member in ipairs(keys) do keys[i] = sub(member, #prefix + 17) end
	return keys
end
