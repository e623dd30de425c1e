-- Records of record.Store. A record's kind is a field ("7:monitor"), and its key is kind and
-- id. The hash records has the fields below, by key. parent is the key of an endpoint's parent,
-- '' for other kinds, and lane its lane in queue. The hash recorddata has the data.
--
-- A record is in several groups: of its owner and kind, of its parent or any (''), and of its
-- status or any (''). recordorder is sorted by creation, and has a member for each group: the
-- group, number (16 digits) and key. It also has one for all of the kind: k, kind, number, key.
-- The hash recordsums has the number, size and price of each group, with spaces between.
--
-- The hash recordnames has the key of the record with a name or lookup: see names_of. journal
-- lists the active endpoints of each parent: see b in runs.lua.
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

-- status_of returns the status of an owner's endpoint, or nil if there is none.
local function status_of(id, owner)
	local r = parse_record('8:endpoint' .. id, call('HGET', K.records, '8:endpoint' .. id))
	return r and r.owner == owner and r.status or nil
end
