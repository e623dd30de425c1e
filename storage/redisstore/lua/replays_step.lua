-- Makes a step of a replay. The caller has read the owner's events up to the number stop.
-- Arguments of each event: its number; its id; id and record of its delivery to the endpoint,
-- as in journal_commit.lua, or '' twice if the event is not of the endpoint's source. An event
-- that was removed after the caller had read it counts as removed.
local function shown(text, ids) return reply('done', text, ids, get(K.deliveries, ids)) end

local given = answered()
if given then
	if #given == 0 then return reply('unknown') end -- erase_calls.lua has removed the answer
	return shown(table.remove(given, 1), given)
end

local id, owner, lane, which, cursor = arg(), arg(), arg(), arg(), arg()
local due, updated, limit, stop, count = arg(), arg(), tonumber(arg()), tonumber(arg()), tonumber(arg())
local r = replay_of(id)
if not r or r.owner ~= owner then return reply('unknown') end
if r.id ~= which or r.cursor ~= cursor or r.state ~= 'r' then return reply('conflict') end
if status_of(id, owner) ~= 'active' then return reply('waits') end

local ids, of = {}, {}
for i = 1, count do ids[i], of[i] = ARGV[word + 4 * i - 2], ARGV[word + 4 * i - 1] end
local there, had = get(K.events, ids), get(K.deliveries, of)
for _, name in ipairs({ 'cursor', 'last', 'created', 'reopened', 'left', 'removed' }) do r[name] = tonumber(r[name]) end

local create, made, full = {}, {}, false
for i = 1, count do
	local seq = tonumber(ARGV[word + 4 * i - 3])
	local value = had[i]
	local fresh, failed = of[i] ~= '' and not value, value and sub(value, 1, 1) == 'f'
	if there[i] and there[i] ~= '' then -- '' for one that was removed
		if (fresh or failed) and #made == limit then
			full = true
			break
		end
		if fresh then
			insert(create, i)
			r.created = r.created + 1
		elseif failed then
			try_reopen(open_delivery(of[i], value))
			r.reopened = r.reopened + 1
		elseif value then
			r.left = r.left + 1
		end
		if fresh or failed then insert(made, of[i]) end
		r.removed = r.removed + seq - r.cursor - 1
		r.cursor = seq
	end
end
if not full then
	r.removed = r.removed + max(stop - r.cursor, 0)
	r.cursor = max(stop, r.cursor)
end
local was = r.due
r.due, r.updated = due, updated
if r.cursor >= r.last then r.state = 'd' end

-- An event that was committed without deliveries may share a run with other events. If it now
-- gets one, the run is replaced by one run per event: see unfold in removal_events.lua.
local singles = {}
if #create > 0 then
	local needed = {}
	for _, i in ipairs(create) do needed[tonumber(ARGV[word + 4 * i - 3])] = true end
	local first = max(tonumber(ARGV[word + 4 * create[1] - 3]) - LONGEST + 1, 1)
	local fields = {}
	for seq = first, tonumber(ARGV[word + 4 * create[#create] - 3]) do insert(fields, run_field(owner, seq)) end
	for k, run in ipairs(get(K.journal, fields)) do
		local list, split = ids_of(run), false
		for n = 1, #list do split = split or needed[first + k + n - 2] end
		if #list > 1 and split then
			for n = 1, #list do
				insert(singles, run_field(owner, first + k + n - 2))
				insert(singles, to_run(list, n, n))
			end
		end
	end
end
touch(lane)

local text = to_replay(r)
answer({ text, unpack(made) })
many('HSET', K.journal, singles)
local records, logged, queued = {}, {}, {}
for _, i in ipairs(create) do
	local seq, number = hex(tonumber(ARGV[word + 4 * i - 3])), hex(next_number())
	insert(records, of[i])
	insert(records, 'p' .. due .. '00000000' .. number .. seq .. ARGV[word + 4 * i])
	insert(logged, '0')
	insert(logged, owner .. number .. of[i])
	insert(queued, '0')
	insert(queued, lane .. due .. number .. of[i])
	call('HINCRBY', K.settledagain, owner .. seq, '1')
end
many('HSET', K.deliveries, records)
many('ZADD', K.log, logged)
many('ZADD', K.queue, queued)
keep_reopened(due)
relink()
if #create > 0 then keep_count() end
keep_replay(id, r, text, was)
return shown(text, made)
