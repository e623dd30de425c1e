-- Creates a record, unless its id or name is taken: see record.lua.
local given = answered()
if given then return reply(given[1]) end

local id, owner, name, status, version, record, kind = arg(), arg(), arg(), arg(), arg(), arg(), arg()
if call('HEXISTS', K.meta, id) == 1 or call('HEXISTS', K.names, name) == 1 then return reply('duplicate') end

answer({ 'done' })
local number = hex(next_number())
call('HSET', K.meta, id, to_field(owner) .. to_field(name) .. to_field(status) .. to_field(version) .. to_field(number))
call('HSET', K.records, id, record)
call('HSET', K.names, name, id)
call('ZADD', K.order, '0', owner .. number .. id)
keep_count()
keep_change(kind, owner, id)
return reply('done')
