-- Reads the number of the last change: see changes.lua.
return reply(call('HGET', K.count, 'c') or '0')
