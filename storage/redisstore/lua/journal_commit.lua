-- uses: write count lane tidy_events
-- keys: bound events byowner forgotten seqs deliveries log others cursors
-- Records polls. The caller made the deliveries for the endpoints that it knows
-- to be bound to the sources; if others are, it is told and comes again. It runs
-- with charges.lua or, as most commits have none, nocharges.lua.
local given = answered()
if given then return reply('done', given) end

local sources = args(tonumber(arg()))
local bound, stale = args(#sources), false
local is = get(K.bound, sources)
for i = 1, #sources do
	is[i] = is[i] or ''
	stale = stale or is[i] ~= bound[i]
end
if stale then return reply('stale', is) end

local owners = args(tonumber(arg()))
local seqs, lasts, named = get(K.seqs, owners), {}, {}
for i, owner in ipairs(owners) do
	lasts[i] = seqs[i] or '0'
	seqs[i] = tonumber(lasts[i])
	named[i] = to_field(owner)
end

-- Events: id and record of each. Records go as they came: every copy of a text
-- costs the time to hash it.
local count = tonumber(arg())
local first, ids = word + 1, {}
for i = 1, count do ids[i] = ARGV[word + 2 * i - 1] end
word = word + 2 * count
local is_known, was_known = get(K.events, ids), get(K.forgotten, ids)

-- Then of each event: owner, and the deliveries that it has: id, lane, due,
-- record.
local flags, fresh, news = {}, {}, 0
local byowner, settled, others = {}, {}, {}
local deliveries, logged, queued = {}, {}, {}
for i, id in ipairs(ids) do
	local owner, several = tonumber(ARGV[word + 1]), tonumber(ARGV[word + 2])
	word = word + 2
	if is_known[i] or was_known[i] or fresh[id] then
		flags[i] = '0'
		word = word + 4 * several
	else
		flags[i], fresh[id], news = '1', true, news + 1
		local seq = seqs[owner] + 1
		seqs[owner] = seq
		seq = hex(seq)
		byowner[2 * news - 1], byowner[2 * news] = owners[owner] .. seq, id
		if several == 0 then
			settled[#settled + 1] = now .. seq .. '0000000000000000' .. named[owner] .. '0:' .. id
		elseif several > 1 then
			local all = {}
			for k = 1, several do all[k] = to_field(ARGV[word + 4 * k - 3]) end
			insert(others, id)
			insert(others, format('%08x', several - 1) .. hex(upcoming_number()) .. table.concat(all))
		end
		for _ = 1, several do
			local delivery, lane, due = ARGV[word + 1], ARGV[word + 2], ARGV[word + 3]
			local number = hex(next_number())
			touch(lane)
			insert(deliveries, delivery)
			insert(deliveries, 'p' .. due .. '00000000' .. number .. seq .. ARGV[word + 4])
			insert(logged, '0')
			insert(logged, owners[owner] .. number .. delivery)
			insert(queued, '0')
			insert(queued, lane .. due .. number .. delivery)
			word = word + 4
		end
	end
end

local unpaid = try_charges()

-- Cursors: target and record of each.
local cursors = args(tonumber(arg()))

given = answer({ table.concat(flags), table.concat(lasts, ' '), unpaid })
many('HSET', K.cursors, cursors)
if news == count then
	many('HSET', K.events, ARGV, first, first + 2 * count - 1)
else
	local events = {}
	for i, id in ipairs(ids) do
		if flags[i] == '1' then
			insert(events, id)
			insert(events, ARGV[first + 2 * i - 1])
		end
	end
	many('HSET', K.events, events)
end
if news > 0 then
	local last = {}
	for i, owner in ipairs(owners) do last[2 * i - 1], last[2 * i] = owner, format('%d', seqs[i]) end
	many('HSET', K.seqs, last)
	many('HSET', K.byowner, byowner)
	keep_settled(settled)
end
if #deliveries > 0 then
	many('HSET', K.deliveries, deliveries)
	many('ZADD', K.log, logged)
	many('HSET', K.others, others)
	many('ZADD', K.queue, queued)
	relink()
	keep_count()
end
tidy_events(step + 2 * news)
keep_charges()
return reply('done', given)
