-- Removes an owner's events with the first limit of its remaining sequence numbers. Their ids
-- are not remembered. Replies with the number of events, and '1' if numbers remain or '' at the
-- end. At the end it also removes the owner's last number. journal keeps the greatest last
-- number of all erased owners: see f in runs.lua.
local given = answered()
if given then return reply(given[1], given[2]) end

local owner, limit = arg(), tonumber(arg())
local last = tonumber(call('HGET', K.journal, 's' .. owner) or '0')
local first = tonumber(call('HGET', K.firsts, owner) or '1')
local stop = min(last, first + limit - 1)
local fields, ids = {}, {}
for seq = first, stop do insert(fields, run_field(owner, seq)) end
for _, run in ipairs(get(K.journal, fields)) do
	for _, id in ipairs(ids_of(run)) do insert(ids, id) end
end
local erased = tonumber(call('HGET', K.journal, 'f') or '0')
local told = { format('%d', #ids), stop < last and '1' or '' }

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
return reply(told[1], told[2])
