-- Deletes a record, and the total of its ledger entries. charged is the kind of these entries,
-- '' for a kind of record without entries.
local given = answered()
if given then return reply(given[1]) end

local id, owner, charged, kind = arg(), arg(), arg(), arg()
local m = meta(id, owner)
if not m then return reply('unknown') end

answer({ 'done' })
call('HDEL', K.names, m.name)
call('HDEL', K.meta, id)
call('HDEL', K.records, id)
call('ZREM', K.order, owner .. m.number .. id)
if charged ~= '' then call('HDEL', K.totals, to_field(charged) .. owner .. id) end
keep_change(kind, owner, id)
return reply('done')
