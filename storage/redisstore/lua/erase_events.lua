-- Removes the events with the first of the owner's remaining sequence numbers. Their ids are not
-- remembered. At the end it also removes the owner's last number. journal keeps the greatest last
-- number of all erased owners: see f in runs.lua.
local last = tonumber(call('HGET', K.journal, 's' .. owner) or '0')
local first = tonumber(call('HGET', K.firsts, owner) or '1')
local stop = min(last, first + STEP - 1)
local fields, ids = {}, {}
for seq = first, stop do insert(fields, run_field(owner, seq)) end
for _, run in ipairs(get(K.journal, fields)) do
	for _, id in ipairs(ids_of(run)) do insert(ids, id) end
end
local erased = tonumber(call('HGET', K.journal, 'f') or '0')
local told = { stop < last and '1' or '', format('%d', #ids) }

answer(told)
many('HDEL', K.events, ids)
many('HDEL', K.journal, fields)
if stop < last then
	call('HSET', K.firsts, owner, format('%d', stop + 1))
else
	if last > erased then call('HSET', K.journal, 'f', format('%d', last)) end
	call('HDEL', K.journal, 's' .. owner)
	call('HDEL', K.firsts, owner)
end
return reply(unpack(told))
