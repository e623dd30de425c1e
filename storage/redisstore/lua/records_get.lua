-- Reads an owner's record.
local id, owner = arg(), arg()
if not meta(id, owner) then return reply('unknown') end
return reply('done', call('HGET', K.records, id))
