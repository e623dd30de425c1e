-- Reads up to limit entries of the feed after a number, and the last number. The list feed has
-- the last 10,000 entries: owner and key of each. Field r of count is the number of the last.
local number, limit = tonumber(arg()), tonumber(arg())
local last = call('HGET', K.count, 'r') or '0'
local from = call('LLEN', K.feed) - (last - number)
if number > last + 0 or from < 0 then return reply('old', last) end
if limit == 0 then return reply('done', last, {}) end
return reply('done', last, call('LRANGE', K.feed, format('%d', from), format('%d', from + limit - 1)))
