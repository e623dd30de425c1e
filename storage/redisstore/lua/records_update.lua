-- Replaces a record, unless its version has changed since the caller read it.
local given = answered()
if given then return reply(given[1]) end

local id, owner, name, status, version, next_version, record, kind = arg(), arg(), arg(), arg(), arg(), arg(), arg(), arg()
local m = meta(id, owner)
if not m then return reply('unknown') end
if m.version ~= version then return reply('conflict') end
if m.name ~= name and call('HEXISTS', K.names, name) == 1 then return reply('duplicate') end

answer({ 'done' })
if m.name ~= name then
	call('HDEL', K.names, m.name)
	call('HSET', K.names, name, id)
end
call('HSET', K.meta, id, to_field(owner) .. to_field(name) .. to_field(status) .. to_field(next_version) .. to_field(m.number))
call('HSET', K.records, id, record)
keep_change(kind, owner, id)
return reply('done')
