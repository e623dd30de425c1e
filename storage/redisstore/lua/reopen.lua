-- Makes final deliveries pending again. The items of their events stay in settled, because that
-- list cannot be searched. settledagain counts the items that are no longer valid: see
-- removal_events.lua.

-- siblings finds the deliveries of d's event: in log they are next to d. It returns an entry
-- for others (see delivery.lua) in which none is open.
local function siblings(d)
	local at = call('ZRANK', K.log, d.owner .. d.number .. d.id)
	local first, list = d.number, { to_field(d.id) }
	for _, step in ipairs(at and { -1, 1 } or {}) do
		local i = at + step
		while i >= 0 do
			local member = call('ZRANGE', K.log, format('%d', i), format('%d', i))[1]
			if not member or sub(member, 1, #d.owner) ~= d.owner then break end
			local id = sub(member, #d.owner + 17)
			local value = call('HGET', K.deliveries, id)
			if not value or field(value, 58) ~= d.event then break end
			if step < 0 then
				first = sub(member, #d.owner + 1, #d.owner + 16)
				insert(list, 1, to_field(id))
			else
				insert(list, to_field(id))
			end
			i = i + step
		end
	end
	return { left = -1, first = first, ids = concat(list), several = #list > 1, again = true }
end

local reopened, reopened_events = {}, {}

-- try_reopen notes a delivery to make pending. Call it before the first write. keep_reopened
-- makes the changes. Call it once, after the first write.
local function try_reopen(d)
	insert(reopened, d)
	local e = reopened_events[d.event]
	if not e then
		local text = call('HGET', K.others, d.event)
		e = text and { left = tonumber(sub(text, 1, 8), 16), first = sub(text, 9, 24), ids = sub(text, 25), several = true }
			or siblings(d)
		reopened_events[d.event] = e
	end
	e.left = e.left + 1
	if e.left > 0 then e.several = true end -- siblings does not find deliveries made by replays
	e.place = d.owner .. d.seq
	touch(d.lane)
end

local function keep_reopened(due)
	local records, into, few = {}, {}, {}
	for _, d in ipairs(reopened) do
		local tried = d.attempts % 65536
		insert(records, d.id)
		insert(records, 'p' .. due .. format('%08x', tried * 65537) .. d.number .. d.base)
		insert(into, '0')
		insert(into, d.lane .. due .. d.number .. d.id)
	end
	for event, e in pairs(reopened_events) do
		if e.again then call('HINCRBY', K.settledagain, e.place, '1') end
		if e.several then
			insert(few, event)
			insert(few, format('%08x', e.left) .. e.first .. e.ids)
		end
	end
	many('HSET', K.deliveries, records)
	many('HSET', K.others, few)
	many('ZADD', K.queue, into)
end
