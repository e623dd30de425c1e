-- Reads a value, its version first.
local name, now = arg(), arg()
local v = value_of(name)
if not v or (v.ends ~= '' and v.ends <= now) then return reply('unknown') end
return reply('done', v.version, v.data)
