-- Reads up to limit changes after a number: see changes.lua.
local number, limit = tonumber(arg()), tonumber(arg())
local last = tonumber(call('HGET', K.count, 'c') or '0')
local kept = call('LLEN', K.changes)
local from = kept - (last - number)
if number > last or from < 0 then return reply('old') end
if limit == 0 then return reply('done', {}) end
return reply('done', call('LRANGE', K.changes, format('%d', from), format('%d', from + limit - 1)))
