-- The feed of changed records. The list changes has kind, owner and id of the last KEPT
-- changes, newest last. The kind is the first letter of monitors, rules, apikeys or endpoints.
-- Changes are numbered: field c of the hash count is the number of the newest.
local KEPT = 10000

local function keep_change(kind, owner, id)
	call('HINCRBY', K.count, 'c', '1')
	call('RPUSH', K.changes, kind .. owner .. id)
	call('LTRIM', K.changes, format('%d', -KEPT), '-1')
end
