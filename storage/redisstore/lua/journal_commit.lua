-- Records the batches of a commit. The caller has prepared deliveries to the endpoints in its
-- cache. If a source has other endpoints, the script records nothing and replies 'stale' with
-- the endpoints of all sources. The caller then prepares the commit again.

-- Arguments: the number of sources, of sources with endpoints, of owners and of events; '1' if
-- all events have different ids; the number of arguments for cursors and of runs; the maximum
-- number of old events to remove; the number of fences. Adding 0 converts a text to a number
-- faster than tonumber does.
local sources, bound, owners, count = ARGV[word + 1] + 0, ARGV[word + 2] + 0, ARGV[word + 3] + 0, ARGV[word + 4] + 0
local all_new, cursors, runs = ARGV[word + 5] == '1', ARGV[word + 6] + 0, ARGV[word + 7] + 0
local most, fences = ARGV[word + 8] + 0, ARGV[word + 9] + 0
word = word + 9

-- Arguments: the fields of the sources, owners and fences in journal, twice for an owner (s and
-- g), then the list of endpoints for each source that has any. These sources come first.
local given = answered()
if given then return reply('done', given) end
local asked = sources + 2 * owners + fences
local names = args(asked)
local is = get(K.journal, names)

-- Arguments: a value for each fence. For field t and a term's name it is the generation, which
-- must be the stored one. For field t alone the batch has no fence, and the value is the time
-- ('' for the server's clock): all leases must have expired, and the commit ends all terms.
local left
for i = 1, fences do
	local shown, present = ARGV[word + bound + i], is[asked - fences + i]
	if names[asked - fences + i] ~= 't' then
		if present ~= shown then return reply('fenced') end
	elseif present then
		local time = shown == '' and call('TIME')
		if tonumber(present, 16) > (time and time[1] * 1000000 + time[2] or shown + 0) then return reply('shared') end
		left = { 't' }
		for k, term in ipairs(call('HGETALL', K.members)) do
			if k % 2 == 1 then insert(left, 't' .. term) end
		end
	end
end
local stale = false
for i = 1, sources do
	if (is[i] or '') ~= (i <= bound and ARGV[word + i] or '') then stale = true end
end
if stale then
	for i = 1, sources do is[i] = is[i] or '' end
	return reply('stale', is)
end
word = word + bound + fences
local escaped, lasts, seqs = {}, {}, {} -- by owner: escaped name, and last number before and after
local dropped = {} -- by owner: whether its events are dropped
local erased -- the number after which a new owner's numbers start: see f in runs.lua
for i = 1, owners do
	escaped[i] = sub(names[sources + i], 2)
	if not is[sources + i] then erased = erased or call('HGET', K.journal, 'f') or '0' end
	lasts[i] = is[sources + i] or erased
	seqs[i] = lasts[i] + 0
	if is[sources + owners + i] and is[sources + owners + i] > now then dropped[i], all_new = true, false end
end

-- Arguments: id and record of each event. The records are written unchanged, because joining
-- texts takes time: Lua hashes the result.
local first, ids = word + 1, {}
for i = 1, count do ids[i] = ARGV[word + 2 * i - 1] end
word = word + 2 * count
local known = get(K.events, ids) -- '' for one that was removed
for i = 1, count do
	if known[i] then all_new = false end
end

-- Arguments: field and record of each cursor.
local changes = args(cursors)

-- Arguments of each run (see runs.lua): owner, number of events, number of deliveries; if there
-- are any, the event's life ('' for one delivery, see delivery.lua) and the deliveries. The stored
-- run omits events that are known.
local flags, fresh, new, events, settled = {}, {}, all_new and ids or {}, {}, {}
local at, news, changed = 0, 0, #changes
for _ = 1, runs do
	local owner, size, several = ARGV[word + 1] + 0, ARGV[word + 2] + 0, ARGV[word + 3] + 0
	word = word + 3
	local before = news
	if all_new then news = news + size end -- most commits; the loop would take a tenth of the time
	for i = at + 1, all_new and at or at + size do
		local id = ids[i]
		if known[i] or fresh[id] or dropped[owner] then
			flags[i] = '0'
		else
			news = news + 1
			flags[i], fresh[id], new[news] = '1', true, id
			events[2 * news - 1], events[2 * news] = id, ARGV[first + 2 * i - 1]
		end
	end
	if news > before then
		local name, seq = escaped[owner], hex(seqs[owner] + 1)
		seqs[owner] = seqs[owner] + news - before
		local run
		if several > 0 then
			run = make_deliveries(new[news], name, seq, several)
		else
			run = to_run(new, before + 1, news)
			settled[#settled + 1] = now .. seq .. format('%02x', news - before) .. to_field(name)
		end
		changes[changed + 1], changes[changed + 2] = 'r' .. name .. seq, run
		changed = changed + 2
	end
	at, word = at + size, word + 4 * several + min(several, 1)
end
if news > 0 then
	for i = 1, owners do
		if not dropped[i] then
			changes[changed + 1], changes[changed + 2] = names[sources + i], format('%d', seqs[i])
			changed = changed + 2
		end
	end
end

local unpaid = make_charges()

local told = (news < count and concat(flags) or '') .. ',' .. concat(lasts, ' ') .. ',' .. unpaid
answer({ told })
many('HSET', K.journal, changes)
if news > 0 and erased and erased ~= '0' then
	for i = 1, owners do
		if not is[sources + i] and not dropped[i] then call('HSET', K.firsts, escaped[i], format('%d', erased + 1)) end
	end
end
if left then
	many('HDEL', K.journal, left)
	call('DEL', K.members)
end
if all_new then many('HSET', K.events, ARGV, first, first + 2 * count - 1) else many('HSET', K.events, events) end
keep_settled(settled)
keep_deliveries()
if most > 0 then remove_events(most) end
keep_charges()
return reply('done', { told })
