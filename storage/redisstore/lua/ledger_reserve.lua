-- Opens a reservation. Arguments: id, owner, amount, when it expires or ''.
local given = answered()
if given then return reply(given[1]) end

local id, owner, held, expires = arg(), arg(), arg(), arg()
expire()
if hold(id) then return reply('done') end
know({ id })
if outcome(id) or known[id] then return reply('resolved') end
local a, by = account(owner), amount(held)
if below(a[1], by) then return reply('insufficient') end
a[1], a[2], a.changed = minus(a[1], by), plus(a[2], by), true

answer({ 'done' })
keep_accounts()
call('HSET', K.holds, id, to_field(owner) .. to_field(held) .. expires)
if expires ~= '' then call('ZADD', K.expiring, '0', expires .. id) end
remove_entries(step)
return reply('done')
