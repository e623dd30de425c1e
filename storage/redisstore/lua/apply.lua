-- Applies a record.Change. It first makes the change in the tables below, and checks it there.
-- Replies with the reason for a refusal, or with done and the number of the last entry in the
-- feed, and '1' if closed lanes remain (see closing.lua).
local function done(number) return reply('done', number, call('EXISTS', K.closing) == 1 and '1' or '') end

local given = answered()
if given then return done(given[1]) end

-- items reads a list of arguments: the number of items, then the named values of each.
local keys = {}
local function items(names)
	local list = {}
	for i = 1, tonumber(arg()) do
		local item = {}
		for _, name in ipairs(names) do item[name] = arg() end
		list[i] = item
		insert(keys, item.key)
	end
	return list
end
local deletes = items({ 'key', 'owner', 'version' })
local puts = items({ 'key', 'owner', 'version', 'parent', 'name', 'lookup', 'status', 'size', 'price', 'created', 'updated', 'lane', 'data' })
local needs = items({ 'key', 'owner', 'version' })
local notes = items({ 'key', 'owner', 'version', 'note' })
local refuse = items({ 'owner', 'till', 'entry' })[1]
local limits = items({ 'owner', 'parent', 'status', 'of', 'max', 'kinds' })

for _, p in ipairs(puts) do
	if is_gone(p.owner) then return reply('gone', p.key) end
end

-- before and is have the records before and after the change by key, false for none. is has
-- only those that change. changed has their keys in order.
local before, is, changed, deleted, feed = {}, {}, {}, {}, {}
for i, text in ipairs(get(K.records, keys)) do before[keys[i]] = parse_record(keys[i], text) end

local function current(key)
	if is[key] == nil then return before[key] end
	return is[key]
end

local function change(key, owner, r)
	if is[key] == nil then insert(changed, key) end
	is[key] = r
	insert(feed, owner .. key)
end

-- wrong returns the reason if r is not the record that an item refers to.
local function wrong(r, item)
	if not r or r.owner ~= item.owner then return 'unknown' end
	if item.version ~= '0' and item.version ~= r.version then return 'conflict' end
end

-- delete also deletes the children of a record.
local function delete(r)
	if is[r.key] == false then return end
	change(r.key, r.owner, false)
	insert(deleted, r)
	local children = keys_with(children_of(r.owner, r.key))
	for i, text in ipairs(get(K.records, children)) do
		local key = children[i]
		before[key] = before[key] or parse_record(key, text)
		delete(before[key])
	end
end
for _, d in ipairs(deletes) do
	local reason = wrong(before[d.key], d)
	if reason then return reply(reason, d.key) end
end
for _, d in ipairs(deletes) do delete(before[d.key]) end

local duplicate
for _, p in ipairs(puts) do
	local was = current(p.key)
	if p.version ~= '0' then
		local reason = wrong(was, p)
		if reason then return reply(reason, p.key) end
		p.version, p.number = format('%.0f', was.version + 1), was.number
		p.parent, p.created, p.note = was.parent, was.created, was.note
	elseif was then
		duplicate = duplicate or p.key
	else
		p.version, p.number, p.note = '1', hex(next_number()), ''
	end
	split_key(p)
	change(p.key, p.owner, p)
end
for _, n in ipairs(needs) do
	local reason = wrong(current(n.key), n)
	if reason then return reply(reason, n.key) end
end
if duplicate then return reply('duplicate', duplicate) end

-- names_of returns the fields of a record in recordnames.
local function names_of(r)
	local list = {}
	if r and r.name ~= '' then insert(list, 'n' .. r.owner .. r.kind .. to_field(r.parent) .. r.name) end
	if r and r.lookup ~= '' then insert(list, 'l' .. r.kind .. r.lookup) end
	return list
end
local names = {} -- the key of the record that has a name after the change, false for none
for _, key in ipairs(changed) do
	for _, name in ipairs(names_of(before[key])) do names[name] = false end
end
for _, key in ipairs(changed) do
	for _, name in ipairs(names_of(is[key])) do
		if names[name] == nil then names[name] = call('HGET', K.recordnames, name) end
		if names[name] then return reply('duplicate', key) end
		names[name] = key
	end
end

-- recordsums has number, size and price of the records with an owner, kind, parent ('' for any)
-- and status ('' for any), with spaces between.
local sums = {}
local function sum_of(owner, kind, parent, status)
	local name = owner .. kind .. to_field(parent) .. status
	if not sums[name] then
		local _, _, number, size, price = find(call('HGET', K.recordsums, name) or '0 0 0', '^(%S+) (%S+) (%S+)$')
		sums[name] = { amount(number), amount(size), amount(price) }
	end
	return sums[name]
end
local function count(r, by)
	if not r then return end
	for _, parent in ipairs(r.parent == '' and { '' } or { '', r.parent }) do
		for _, status in ipairs(r.status == '' and { '' } or { '', r.status }) do
			local sum = sum_of(r.owner, r.kind, parent, status)
			for i, text in ipairs({ '1', r.size, r.price }) do
				sum[i] = by == 1 and plus(sum[i], amount(text)) or minus(sum[i], amount(text))
			end
		end
	end
end
for _, key in ipairs(changed) do
	count(before[key], -1)
	count(is[key], 1)
end
for i, l in ipairs(limits) do
	local have, at = { 0, 0 }, 1
	while at <= #l.kinds do
		local kind
		kind, at = field(l.kinds, at)
		have = plus(have, sum_of(l.owner, to_field(kind), l.parent, l.status)[tonumber(l.of)])
	end
	if below(amount(l.max), have) then return reply('limit', format('%d', i - 1), signed_text(bounded(have))) end
end

-- The change can be made. What follows gathers what to write.
for _, n in ipairs(notes) do
	local r = current(n.key)
	if not wrong(r, n) then
		r.note = n.note
		if is[n.key] == nil then insert(changed, n.key) end
		is[n.key] = r
	end
end
local records, data, gone, come, bound = {}, {}, {}, {}, {}
for _, key in ipairs(changed) do
	local was, r = before[key], is[key]
	if r then
		insert(records, key)
		insert(records, record_text(r))
		if r.data then
			insert(data, key)
			insert(data, r.data)
		end
	end
	if not (was and r and was.number == r.number and was.status == r.status) then
		for _, place in ipairs(was and places_of(was) or {}) do insert(gone, place) end
		for _, place in ipairs(r and places_of(r) or {}) do
			insert(come, '0')
			insert(come, place)
		end
		for _, e in ipairs({ was or r, r or was }) do
			if e.lane ~= '' then bound['e' .. e.owner .. e.parent] = children_of(e.owner, e.parent) end
		end
	end
end
local ended, replays, due, totals = {}, {}, {}, {}
for i, r in ipairs(deleted) do
	ended[i], totals[i] = r.key, r.kind .. r.owner .. r.id
	if r.lane ~= '' then
		local replay = replay_of(r.id)
		if replay then
			insert(replays, r.id)
			insert(due, replay.due .. r.id)
		end
		end_lane(r.lane)
	end
end
prepare(orphans)
if refuse then insert(feed, refuse.entry) end
local last = format('%d', (call('HGET', K.count, 'r') or '0') + #feed)
local told = #feed > 0 and last or '0'

answer({ told })
many('HDEL', K.records, ended)
many('HDEL', K.recorddata, ended)
many('HSET', K.records, records)
many('HSET', K.recorddata, data)
many('ZREM', K.recordorder, gone)
many('ZADD', K.recordorder, come)
for name, key in pairs(names) do
	call('HDEL', K.recordnames, name)
	if key then call('HSET', K.recordnames, name, key) end
end
for name, s in pairs(sums) do
	call('HDEL', K.recordsums, name)
	if s[1][2] > 0 then call('HSET', K.recordsums, name, signed_text(s[1]) .. ' ' .. signed_text(s[2]) .. ' ' .. signed_text(s[3])) end
end
for name, children in pairs(bound) do
	local of, active = keys_with(children), {}
	for i, text in ipairs(get(K.records, of)) do
		local r = parse_record(of[i], text)
		if r.lane ~= '' and r.status == 'active' then insert(active, to_field(r.id)) end
	end
	call('HDEL', K.journal, name)
	if #active > 0 then call('HSET', K.journal, name, concat(active)) end
end
many('HDEL', K.totals, totals)
many('HDEL', K.replays, replays)
many('ZREM', K.replaysdue, due)
if #closed + #emptied > 0 then keep_ended() end
many('RPUSH', K.feed, feed)
call('LTRIM', K.feed, '-10000', '-1')
call('HSET', K.count, 'r', last)
if counted then keep_count() end
if refuse then keep_gone(refuse.owner, refuse.till) end
return done(told)
