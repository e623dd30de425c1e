-- Reads an owner's endpoint.
local id, owner = arg(), arg()
if not endpoint(id, owner) then return reply('unknown') end
return reply('done', call('HGET', K.endpoints, id))
