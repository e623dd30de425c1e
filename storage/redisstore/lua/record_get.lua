-- Reads an owner's record by its key, or one by its field in recordnames if owner is ''.
local key, owner = arg(), arg()
if owner == '' then key = call('HGET', K.recordnames, key) end
local text = key and call('HGET', K.records, key)
if not text or (owner ~= '' and field(text, 1) ~= owner) then return reply('unknown') end
return reply('done', key, text, call('HGET', K.recorddata, key))
