-- Reads the replay of an owner's endpoint.
local id, owner = arg(), arg()
local r, text = replay_of(id)
if not r or r.owner ~= owner then return reply('unknown') end
return reply('done', text)
