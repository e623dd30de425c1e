-- Owners that are refused. journal has until when (see g in runs.lua). gonetimes is sorted: the
-- same time, owner of each.
local gone_owners = {}
local function is_gone(owner)
	if gone_owners[owner] == nil then gone_owners[owner] = (call('HGET', K.journal, 'g' .. owner) or '') > now end
	return gone_owners[owner]
end
