-- The feed of changes. The list changes holds the last KEPT of them, newest last: kind,
-- owner and id of each. The kind is the first letter of monitors, rules, apikeys or
-- endpoints. The number of the newest is in count.
local KEPT = 10000

local function keep_change(kind, owner, id)
	call('HINCRBY', K.count, 'c', '1')
	call('RPUSH', K.changes, kind .. owner .. id)
	call('LTRIM', K.changes, format('%d', -KEPT), '-1')
end
