-- Ends a reservation. If how is 'c', commits it and makes an entry; if 'g', gives it back.
local given = answered()
if given then return reply(given[1]) end

local id, how, kind, source, record = arg(), arg(), arg(), arg(), arg()
expire()
local h = hold(id)
if not h then
	local was = outcome(id)
	if not was then return reply('unknown') end
	return reply(was == how and 'done' or 'resolved')
end
finish(h, how)
if how == 'c' then
	know({ id })
	post(id, h.owner, negated(h.amount), kind, source, record) -- covered by the reservation
end
answer({ 'done' })
keep_accounts()
remove_entries(step)
return reply('done')
