-- Removes settled events: those without open deliveries. The id of a removed event is
-- remembered for a while: in events with '' as its record, and in forgottenorder with the time.
-- The hash firsts has, by owner, a number before which no event is stored.

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
		run.owner, run.turn = owner, sub(e, at)
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

-- raise increases an owner's number in firsts to skip removed events.
local function raise(owner)
	local first = tonumber(call('HGET', K.firsts, owner) or '1')
	local last = tonumber(call('HGET', K.journal, 's' .. owner) or '0')
	local was, size, there = first, 4, false
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

-- remove_run removes the events of an item, with their deliveries and attempts. Those that have got
-- or reopened a delivery since then stay, each in a run of its own. It adds the ids of the removed
-- events to gone.
local function remove_run(run, gone)
	local name = run_field(run.owner, run.first)
	local value = call('HGET', K.journal, name)
	local ids, delivery = ids_of(value), only_delivery(value)
	if #ids == 0 then return end
	local parts, lives, deliveries = {}, {}, {}
	local of = get(K.lives, ids)
	for k = 1, min(run.size, #ids) do
		local life = of[k]
		if life and sub(life, 1, 16) ~= '00000000' .. run.turn then
			insert(parts, run_field(run.owner, run.first + k - 1))
			insert(parts, to_run(ids, k, k))
		else
			insert(gone, ids[k])
			if life then insert(lives, ids[k]) end
			if not life and delivery then insert(deliveries, delivery) end
			local at = 17
			while life and at <= #life do deliveries[#deliveries + 1], at = field(life, at) end
		end
	end
	if #ids > run.size then
		insert(parts, run_field(run.owner, run.first + run.size))
		insert(parts, to_run(ids, run.size + 1, #ids))
	end
	local logged = {}
	for i, value in ipairs(get(K.deliveries, deliveries)) do
		if value then insert(logged, run.owner .. sub(value, 26, 41) .. deliveries[i]) end
	end
	call('HDEL', K.journal, name)
	many('HSET', K.journal, parts)
	many('HDEL', K.lives, lives)
	many('HDEL', K.deliveries, deliveries)
	many('HDEL', K.attempts, deliveries)
	many('ZREM', K.log, logged)
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
		local gone, owners = {}, {}
		for _, run in ipairs(list) do
			remove_run(run, gone)
			owners[run.owner] = true
		end
		for owner in pairs(owners) do raise(owner) end
		remember(K.events, K.forgottenorder, gone)
		left = left - max(events, #list / 8)
	end
	forget_ids(K.events, K.forgottenorder, most)
end
