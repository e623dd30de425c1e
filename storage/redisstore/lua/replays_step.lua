-- Makes a step of a replay. The caller has read the owner's events up to the number stop.
-- Arguments of each event: its number; its id; id and record of its delivery to the endpoint,
-- as in journal_commit.lua, or '' twice if the event is not of the endpoint's source. An event
-- that was removed after the caller had read it counts as removed.
local function shown(text, ids) return reply('done', text, ids, get(K.deliveries, ids)) end

local given = answered()
local id, owner, lane, which, cursor = arg(), arg(), arg(), arg(), tonumber(arg())
local due, due_json, updated, limit, stop, count = arg(), arg(), arg(), tonumber(arg()), tonumber(arg()), tonumber(arg())
local r, stored = replay_of(id)
if not r then return reply('unknown') end
if given then return shown(stored, given) end
if r.ID ~= which or r.Cursor ~= cursor or r.State ~= 'running' then return reply('conflict') end
if status_of(id, owner) ~= 'active' then return reply('waits') end

local ids, of = {}, {}
for i = 1, count do ids[i], of[i] = ARGV[word + 4 * i - 2], ARGV[word + 4 * i - 1] end
local there, had = get(K.events, ids), get(K.deliveries, of)

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
			r.Created = r.Created + 1
		elseif failed then
			try_reopen(open_delivery(of[i], value))
			r.Reopened = r.Reopened + 1
		elseif value then
			r.Left = r.Left + 1
		end
		if fresh or failed then insert(made, of[i]) end
		r.Removed = r.Removed + seq - r.Cursor - 1
		r.Cursor = seq
	end
end
if not full then
	r.Removed = r.Removed + max(stop - r.Cursor, 0)
	r.Cursor = max(stop, r.Cursor)
end
local was = r.Next
r.Next, r.Due, r.UpdatedAt = due, due_json, updated
if r.Cursor >= r.Last then r.State = 'done' end

touch(lane)
local runs = {}
for k, i in ipairs(create) do runs[k] = run_field(owner, tonumber(ARGV[word + 4 * i - 3])) end
runs = get(K.journal, runs)
for k, i in ipairs(create) do
	local first, other = '0000000000000000', only_delivery(runs[k])
	local value = other and call('HGET', K.deliveries, other)
	if value then
		first = (final({ state = sub(value, 1, 1) }) and '0000000000000001' or '0000000100000000') .. to_field(other)
	end
	lives[ids[i]] = call('HGET', K.lives, ids[i]) or nil
	live(ids[i], 1, first, to_field(of[i]))
end

local text = cjson.encode(r)
answer(made)
local records, logged, queued = {}, {}, {}
for _, i in ipairs(create) do
	local seq, number = hex(tonumber(ARGV[word + 4 * i - 3])), hex(next_number())
	insert(records, of[i])
	insert(records, 'p' .. due .. '00000000' .. number .. seq .. ARGV[word + 4 * i])
	insert(logged, '0')
	insert(logged, owner .. number .. of[i])
	insert(queued, '0')
	insert(queued, lane .. due .. number .. of[i])
end
many('HSET', K.deliveries, records)
many('ZADD', K.log, logged)
many('ZADD', K.queue, queued)
keep_reopened(due)
relink()
if #create > 0 then keep_count() end
keep_replay(id, r, text, was)
return shown(text, made)
