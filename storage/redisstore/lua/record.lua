-- Records of monitors, rules and API keys. meta has the fields owner, name, status, version and
-- number of each, by id. names has the id by owner and name. order is sorted: owner, number, id
-- of each.

-- meta returns the fields of an owner's record, or nil if there is none.
local function meta(id, owner)
	local text = call('HGET', K.meta, id)
	if not text then return nil end
	local m, at = {}, 1
	m.owner, at = field(text, at)
	if m.owner ~= owner then return nil end
	m.name, at = field(text, at)
	m.status, at = field(text, at)
	m.version, at = field(text, at)
	m.number = field(text, at)
	return m
end
