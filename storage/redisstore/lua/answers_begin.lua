-- Begins a request, unless it has an answer or another caller has begun it: see answers.lua.
-- Arguments: owner, id, Asked and By of fleet.Request, end of the lease.
local given = answered()
if given then return reply(given[1]) end

local owner, id, asked, by, ends = arg(), arg(), arg(), arg(), arg()
local name = owner .. id
local had = request_of(name)
if had and had.ends > now then
	if had.asked ~= asked then return reply('other') end
	if had.number ~= '' then return reply('answer', had.by, had.text) end
	if had.by ~= by then return reply('underway') end
	return reply('begun')
end

answer({ 'begun' })
if had then remove_request(name, had) end
keep_request(name, { owner = owner, asked = asked, by = by, number = '', ends = ends, text = '' })
return reply('begun')
