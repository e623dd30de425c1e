-- The feed of changes. changes has the last KEPT of them, the newest last: kind, owner and
-- id of each. The kind is a letter, the first of monitors, rules, apikeys or endpoints.
-- The number of the newest is in count.
local KEPT = 10000

local function keep_change(kind, owner, id)
	call('HINCRBY', K.count, 'c', '1')
	call('RPUSH', K.changes, kind .. owner .. id)
	call('LTRIM', K.changes, format('%d', -KEPT), '-1')
end
