-- Deletes a record, and its total in the ledger. The total is found by the kind of the
-- record's entries ('' if it has none), its owner and its id.
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
