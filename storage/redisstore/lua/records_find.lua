-- Reads a record by its name.
local id = call('HGET', K.names, arg())
if not id then return reply('unknown') end
return reply('done', call('HGET', K.records, id))
