-- Applies a record.Change. It makes the change in the tables was and is, and checks it there.
-- Replies with the reason for a refusal and what it is about, or with done, the number of the
-- last entry in the feed, and '1' if lanes are closed (see closing.lua).
local function done(last) return reply('done', last, call('EXISTS', K.closing) == 1 and '1' or '') end

local given = answered()
if given then return done(given[1]) end

-- items reads a list of arguments: the number of items, then the named values of each.
local keys = {}
local function items(names)
	local list = {}
	for i = 1, tonumber(arg()) do
		list[i] = {}
		for _, name in ipairs(names) do list[i][name] = arg() end
		insert(keys, list[i].key)
	end
	return list
end
local deletes = items({ 'key', 'owner', 'version' })
local puts = items({ 'key', 'owner', 'version', 'parent', 'name', 'lookup', 'status', 'size', 'price', 'created', 'updated', 'lane', 'data', 'owner_id' })
local needs = items({ 'key', 'owner', 'version' })
local notes = items({ 'key', 'owner', 'version', 'note' })
local refuse = items({ 'id', 'till', 'entry' })[1]
local limits = items({ 'of', 'max', 'groups' })

for _, p in ipairs(puts) do
	if is_gone(p.owner_id) then return reply('gone', p.key) end
end

-- was and is have the records before and after the change by key, false for none. order has
-- the keys.
local was, is, order, deleted, feed = {}, {}, {}, {}, {}
local function read(list)
	for i, text in ipairs(get(K.records, list)) do
		local key = list[i]
		if was[key] == nil then
			was[key] = parse_record(key, text)
			is[key] = was[key]
			insert(order, key)
		end
	end
end

local function set(key, owner, r)
	is[key] = r
	insert(feed, owner .. key)
end

-- wrong returns the reason if an item does not refer to the present version of a record.
local function wrong(item)
	local r = is[item.key]
	if not r or r.owner ~= item.owner then return 'unknown' end
	if item.version ~= '0' and item.version ~= r.version then return 'conflict' end
end

-- delete also deletes the children of a record.
local function delete(r)
	if not r then return end -- named, and deleted with its parent
	set(r.key, r.owner, false)
	insert(deleted, r)
	local children = children_of(r.owner, r.key)
	read(children)
	for _, key in ipairs(children) do delete(is[key]) end
end

read(keys)
for _, d in ipairs(deletes) do
	local reason = wrong(d)
	if reason then return reply(reason, d.key) end
end
for _, d in ipairs(deletes) do delete(is[d.key]) end

local duplicate
for _, p in ipairs(puts) do
	local r = is[p.key]
	if p.version ~= '0' then
		local reason = wrong(p)
		if reason then return reply(reason, p.key) end
		p.version, p.number = format('%.0f', r.version + 1), r.number
		p.parent, p.created, p.note = r.parent, r.created, r.note
	else
		if r then duplicate = duplicate or p.key end
		p.version, p.number, p.note = '1', hex(next_number()), ''
	end
	split_key(p)
	set(p.key, p.owner, p)
end
for _, n in ipairs(needs) do
	local reason = wrong(n)
	if reason then return reply(reason, n.key) end
end
if duplicate then return reply('duplicate', duplicate) end

local changed, names = {}, {} -- names: the key of the record that has a name after the change, false for none
for _, key in ipairs(order) do
	if is[key] ~= was[key] then
		insert(changed, key)
		for _, name in ipairs(names_of(was[key])) do names[name] = false end
	end
end
for _, key in ipairs(changed) do
	for _, name in ipairs(names_of(is[key])) do
		if names[name] == nil then names[name] = call('HGET', K.recordnames, name) end
		if names[name] then return reply('duplicate', key) end
		names[name] = key
	end
end

local sums = {} -- number, size and price of groups
local function sum_of(name)
	if not sums[name] then
		local _, _, number, size, price = find(call('HGET', K.recordsums, name) or '0 0 0', '^(%S+) (%S+) (%S+)$')
		sums[name] = { amount(number), amount(size), amount(price) }
	end
	return sums[name]
end
local function count(r, by)
	for _, name in ipairs(r and groups_of(r) or {}) do
		local sum = sum_of(name)
		for i, text in ipairs({ '1', r.size, r.price }) do
			sum[i] = by == 1 and plus(sum[i], amount(text)) or minus(sum[i], amount(text))
		end
	end
end
for _, key in ipairs(changed) do
	count(was[key], -1)
	count(is[key], 1)
end
for i, l in ipairs(limits) do
	local have, at, name = { 0, 0 }, 1
	while at <= #l.groups do
		name, at = field(l.groups, at)
		have = plus(have, sum_of(name)[tonumber(l.of)])
	end
	if below(amount(l.max), have) then return reply('limit', format('%d', i - 1), signed_text(bounded(have))) end
end

-- The change can be made.
for _, n in ipairs(notes) do
	if not wrong(n) then
		is[n.key].note = n.note
		insert(changed, n.key)
	end
end
if refuse then insert(feed, refuse.entry) end
local last = format('%d', (call('HGET', K.count, 'r') or '0') + #feed)
local told = #feed > 0 and last or '0'

answer({ told })
for _, r in ipairs(deleted) do
	call('HDEL', K.records, r.key)
	call('HDEL', K.recorddata, r.key)
	call('HDEL', K.totals, r.kind .. r.owner .. r.id)
	if r.lane ~= '' then
		local replay = replay_of(r.id)
		if replay then
			call('HDEL', K.replays, r.id)
			call('ZREM', K.replaysdue, replay.Next .. r.id)
		end
		end_lane(r.lane)
	end
end
local parents = {} -- owner and key of those whose endpoints have changed
for _, key in ipairs(changed) do
	local old, r = was[key], is[key]
	if r then call('HSET', K.records, key, record_text(r)) end
	if r and r.data then call('HSET', K.recorddata, key, r.data) end
	if not (old and r and old.number == r.number and old.status == r.status) then
		for _, place in ipairs(old and places_of(old) or {}) do call('ZREM', K.recordorder, place) end
		for _, place in ipairs(r and places_of(r) or {}) do call('ZADD', K.recordorder, '0', place) end
		for _, e in ipairs({ old or r, r or old }) do
			if e.lane ~= '' then parents['b' .. e.owner .. e.parent] = e end
		end
	end
end
for name, key in pairs(names) do
	call('HDEL', K.recordnames, name)
	if key then call('HSET', K.recordnames, name, key) end
end
for name, s in pairs(sums) do
	call('HDEL', K.recordsums, name)
	if s[1][2] > 0 then call('HSET', K.recordsums, name, signed_text(s[1]) .. ' ' .. signed_text(s[2]) .. ' ' .. signed_text(s[3])) end
end
for name, e in pairs(parents) do
	local children, active = children_of(e.owner, e.parent), {}
	for i, text in ipairs(get(K.records, children)) do
		local r = parse_record(children[i], text)
		if r.status == 'active' then insert(active, to_field(r.id)) end
	end
	call('HDEL', K.journal, name)
	if #active > 0 then call('HSET', K.journal, name, concat(active)) end
end
keep_ended()
many('RPUSH', K.feed, feed)
call('LTRIM', K.feed, '-10000', '-1')
call('HSET', K.count, 'r', last)
if counted then keep_count() end
if refuse then -- until the time given. Owners whose time is over are forgotten
	local over = call('ZRANGEBYLEX', K.gonetimes, '-', '(' .. after(now))
	insert(over, (call('HGET', K.journal, 'g' .. refuse.id) or now) .. refuse.id)
	for _, member in ipairs(over) do
		call('HDEL', K.journal, 'g' .. sub(member, 17))
		call('ZREM', K.gonetimes, member)
	end
	if refuse.till > now then
		call('HSET', K.journal, 'g' .. refuse.id, refuse.till)
		call('ZADD', K.gonetimes, '0', refuse.till .. refuse.id)
	end
end
return done(told)
