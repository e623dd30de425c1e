-- Removes settled events: those without open deliveries. The id of a removed event is
-- remembered for a while: in events with '' as its record, and in forgottenorder with the time.
--
--   firsts        by owner: a number before which no event is stored
--   settledagain  by owner and number of an event: how many of its items in settled are no
--                 longer valid, because a delivery was reopened, or made by a replay, later
--   settledof     by owner and number of an event: the deliveries listed in these items

-- may_go reports whether excess is positive or the first settled event is too old.
local function may_go(excess)
	local first = call('LINDEX', K.settled, '0')
	return first and (excess > 0 or sub(first, 1, 16) <= old_event)
end

-- first_settled takes items from the start of settled while their events are too old or too
-- many. It stops after step items or most events. If only some events of the last item are too
-- many, the rest of the item stays. It returns the items and the number of their events.
local function first_settled(excess, most)
	local taken, events, rest = {}, 0, nil
	for _, e in ipairs(call('LRANGE', K.settled, '0', format('%d', step - 1))) do
		local is_old = sub(e, 1, 16) <= old_event
		if events >= most or (events >= excess and not is_old) then break end
		local run = { first = tonumber(sub(e, 17, 32), 16), size = tonumber(sub(e, 33, 34), 16) }
		local owner, at = field(e, 35)
		run.owner, run.of = owner, sub(e, at)
		if not is_old and events + run.size > excess then
			local size = excess - events
			rest = sub(e, 1, 16) .. hex(run.first + size) .. format('%02x', run.size - size) .. sub(e, 35)
			run.size = size
		end
		insert(taken, run)
		events = events + run.size
	end
	call('LTRIM', K.settled, format('%d', #taken), '-1')
	if rest then call('LPUSH', K.settled, rest) end
	return taken, events
end

-- unfold reads the run of each item (see runs.lua), and sets the item's ids. If a step of a
-- replay has split the run, the item becomes one item for each event.
local function unfold(list)
	local fields, split, again = {}, {}, {}
	for i, run in ipairs(list) do fields[i] = run_field(run.owner, run.first) end
	for i, text in ipairs(get(K.journal, fields)) do
		local run = list[i]
		run.ids = ids_of(text)
		if run.size == 1 or #run.ids >= run.size then
			insert(split, run)
		else
			for seq = run.first, run.first + run.size - 1 do
				insert(split, { owner = run.owner, first = seq, size = 1, of = '' })
				insert(again, run_field(run.owner, seq))
			end
		end
	end
	local at = 0
	local texts = get(K.journal, again)
	for _, run in ipairs(split) do
		if not run.ids then
			at = at + 1
			run.ids = ids_of(texts[at])
		end
	end
	return split
end

-- without_reopened returns the items that are still valid: see settledagain. It keeps the
-- deliveries of the others in settledof until their events are removed.
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
			if list[i].of ~= '' then
				call('HSET', K.settledof, event, (call('HGET', K.settledof, event) or '') .. to_field(list[i].of))
			end
		end
	end
	return kept
end

-- noted moves the deliveries in settledof to the field before of their events' items.
local function noted(list)
	if call('EXISTS', K.settledof) == 0 then return end
	local events = {}
	for i, run in ipairs(list) do events[i] = run.owner .. hex(run.first) end
	for i, text in ipairs(get(K.settledof, events)) do
		list[i].before = text
		if text then call('HDEL', K.settledof, events[i]) end
	end
end

-- raise increases an owner's number in firsts to skip removed events. removed has the size of
-- each removed run, by its first number.
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

-- remove removes the events of items, with their deliveries and attempts.
local function remove(list)
	local fields, ids, parts, deliveries, logged, owners = {}, {}, {}, {}, {}, {}
	local function forget(owner, of)
		local n, at = tonumber(sub(of, 1, 16), 16), 17
		while at <= #of do
			local id
			id, at = field(of, at)
			if sub(id, 1, 1) == '#' then
				insert(deliveries, sub(id, 18))
				insert(logged, owner .. sub(id, 2))
			else
				insert(deliveries, id)
				insert(logged, owner .. hex(n) .. id)
				n = n + 1
			end
		end
	end
	noted(list)
	for i, run in ipairs(list) do
		local rest = {}
		fields[i] = run_field(run.owner, run.first)
		for k, id in ipairs(run.ids) do insert(k > run.size and rest or ids, id) end
		if #rest > 0 then
			insert(parts, run_field(run.owner, run.first + run.size))
			insert(parts, to_run(rest, 1, #rest))
		end
		if run.of ~= '' then forget(run.owner, run.of) end
		local before, at = run.before or '', 1
		while at <= #before do
			local of
			of, at = field(before, at)
			forget(run.owner, of)
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

-- remove_events removes up to most settled events that are too old or too many. It also forgets
-- up to most ids of removed events. An item without events counts as an eighth of an event:
-- erase_list.lua may leave very many in a row, and one call must not take them all.
local function remove_events(most)
	local left = most
	while left > 0 do
		local excess = call('HLEN', K.events) - call('LLEN', K.forgottenorder) - max_events
		if not may_go(excess) then break end
		local list, events = first_settled(excess, left)
		remove(without_reopened(unfold(list)))
		left = left - max(events, #list / 8)
	end
	forget_ids(K.events, K.forgottenorder, most)
end
