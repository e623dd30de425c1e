-- Deletes a record, and its total in the ledger, which is found by the kind of its entries,
-- its owner and its id. The kind is '' for a record that has no entries.
local given = answered()
if given then return reply(given[1]) end

local id, owner, kind = arg(), arg(), arg()
local m = meta(id, owner)
if not m then return reply('unknown') end

answer({ 'done' })
call('HDEL', K.names, m.name)
call('HDEL', K.meta, id)
call('HDEL', K.records, id)
call('ZREM', K.order, owner .. m.number .. id)
if kind ~= '' then call('HDEL', K.totals, to_field(kind) .. owner .. id) end
return reply('done')
