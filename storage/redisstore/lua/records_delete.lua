-- uses: write meta
-- keys: *records *names *order
local given = answered()
if given then return reply(given[1]) end

local id, owner = arg(), arg()
local m = meta(id, owner)
if not m then return reply('unknown') end

answer({ 'done' })
call('HDEL', K.names, m.name)
call('HDEL', K.meta, id)
call('HDEL', K.records, id)
call('ZREM', K.order, owner .. m.number .. id)
return reply('done')
