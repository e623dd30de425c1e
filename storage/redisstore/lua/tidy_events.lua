-- uses: tidy journal settled
-- keys: settledagain events firsts deliveries attempts log forgottenorder
-- An event that is removed leaves its id in events, with '' for a record, and
-- the list forgottenorder has it with the time.

-- may_go says whether there are events to remove.
local function may_go(excess)
	local first, late = call('LINDEX', K.settled, '0'), call('ZRANGE', K.late, '0', '0')[1]
	if late and (not first or late < first) then first = late end
	return first and (excess > 0 or sub(first, 1, 16) <= old_event)
end

-- first_settled takes out the first runs, up to most events that are too many or
-- too old, in up to so many runs as it looks at of each list. Of a run that is not
-- too old it may be a part.
local function first_settled(excess, most)
	local list, late = call('LRANGE', K.settled, '0', format('%d', step - 1)), call('ZRANGE', K.late, '0', format('%d', step - 1))
	local taken, events, i, k = {}, 0, 1, 1
	local rest, rest_late
	while events < most and #taken < step do
		local e, l = list[i], late[k]
		local is_late = l and (not e or l < e)
		if is_late then e = l end
		local is_old = e and sub(e, 1, 16) <= old_event
		if not e or (events >= excess and not is_old) then break end
		local run = { first = tonumber(sub(e, 17, 32), 16), size = tonumber(sub(e, 33, 34), 16) }
		local owner, at = field(e, 35)
		run.owner, run.of = owner, sub(e, at)
		if not is_old and events + run.size > excess then
			local size = excess - events
			rest_late = is_late
			rest = sub(e, 1, 16) .. hex(run.first + size) .. format('%02x', run.size - size) .. sub(e, 35)
			run.size = size
		end
		insert(taken, run)
		events = events + run.size
		if is_late then k = k + 1 else i = i + 1 end
	end
	many('ZREM', K.late, late, 1, k - 1)
	if i > 1 then call('LTRIM', K.settled, format('%d', i - 1), '-1') end
	if rest and rest_late then call('ZADD', K.late, '0', rest) end
	if rest and not rest_late then call('LPUSH', K.settled, rest) end
	return taken, events
end

-- without_reopened leaves out what was settled before its event was reopened:
-- settledagain says, by owner and number, how many times an event stands in
-- settled too often.
local function without_reopened(list)
	if call('EXISTS', K.settledagain) == 0 then return list end
	local events, again, kept = {}, {}, {}
	for i, run in ipairs(list) do events[i] = run.owner .. hex(run.first) end
	for i, n in ipairs(get(K.settledagain, events)) do again[events[i]] = tonumber(n or '0') end
	for i, event in ipairs(events) do
		if again[event] == 0 then
			insert(kept, list[i])
		else
			again[event] = again[event] - 1
			if call('HINCRBY', K.settledagain, event, '-1') == 0 then call('HDEL', K.settledagain, event) end
		end
	end
	return kept
end

-- raise finds the first event that an owner still has beyond those removed now,
-- in steps.
local function raise(owner, removed)
	local first = tonumber(call('HGET', K.firsts, owner) or '1')
	local last = tonumber(call('HGET', K.journal, 's' .. owner) or '0')
	local was, size, there = first, 4, false
	while removed[first] do first = first + removed[first] end
	while first <= last and first - was <= 16 * step and not there do
		local fields = {}
		for seq = first, min(first + size - 1, last) do insert(fields, run_field(owner, seq)) end
		for _, run in ipairs(get(K.journal, fields)) do
			there = there or run
			if not there then first = first + 1 end
		end
		size = min(4 * size, 128)
	end
	if first ~= was then call('HSET', K.firsts, owner, format('%d', first)) end
end

local function remove(list)
	local fields, ids, parts, deliveries, logged, owners = {}, {}, {}, {}, {}, {}
	for i, run in ipairs(list) do fields[i] = run_field(run.owner, run.first) end
	for i, text in ipairs(get(K.journal, fields)) do
		local run, rest = list[i], {}
		for k, id in ipairs(ids_of(text)) do insert(k > run.size and rest or ids, id) end
		if #rest > 0 then
			insert(parts, run_field(run.owner, run.first + run.size))
			insert(parts, to_run(rest, 1, #rest))
		end
		if run.of ~= '' then
			local n, at = tonumber(sub(run.of, 1, 16), 16), 17
			while at <= #run.of do
				local id
				id, at = field(run.of, at)
				insert(deliveries, id)
				insert(logged, run.owner .. hex(n) .. id)
				n = n + 1
			end
		end
		owners[run.owner] = owners[run.owner] or {}
		owners[run.owner][run.first] = run.size
	end
	many('HDEL', K.journal, fields)
	many('HSET', K.journal, parts)
	many('HDEL', K.deliveries, deliveries)
	many('HDEL', K.attempts, deliveries)
	many('ZREM', K.log, logged)
	for owner, removed in pairs(owners) do raise(owner, removed) end
	remember(K.events, K.forgottenorder, ids)
end

local function tidy_events(most)
	local left = most
	while left > 0 do
		local excess = call('HLEN', K.events) - call('LLEN', K.forgottenorder) - max_events
		if not may_go(excess) then break end
		local list, events = first_settled(excess, left)
		remove(without_reopened(list))
		left = left - events
	end
	forget_ids(K.events, K.forgottenorder, most)
end
