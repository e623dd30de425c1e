-- keys: *meta
-- meta gives what is known of an owner's record, nil for another's.
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
