-- Owners that are refused, by record.OwnerID. journal has until when (see g in runs.lua).
-- gonetimes is sorted: the same time, id of each.
local gone_owners = {}
local function is_gone(id)
	if gone_owners[id] == nil then gone_owners[id] = (call('HGET', K.journal, 'g' .. id) or '') > now end
	return gone_owners[id]
end
