-- uses: lane settled
-- keys: deliveries others
-- A delivery is its state (1), due (16), number of attempts (8), number (16),
-- sequence number of the event (16), and fields: event, owner, lane, source,
-- author, kind of source, what only the caller reads (9), and, if its receiver
-- has asked for waits, their sum in milliseconds. Final states are d and f; then
-- due is 0, or 1 where the deletion of its endpoint ended the delivery. The
-- number of attempts has, above its lower 16 bits, how many are uncounted.
local function open_delivery(id, value)
	local d = { id = id, state = sub(value, 1, 1), due = sub(value, 2, 17), was = sub(value, 2, 17),
		attempts = tonumber(sub(value, 18, 25), 16), number = sub(value, 26, 41), seq = sub(value, 42, 57), rest = sub(value, 42) }
	local at
	d.event, at = field(value, 58)
	d.owner, at = field(value, at)
	d.lane, at = field(value, at)
	for _ = 1, 3 do
		local _
		_, at = field(value, at)
	end
	d.waited = tonumber(sub(value, at + 9)) or 0
	d.base = sub(value, 42, at + 8) -- rest without waited
	return d
end

-- wait notes an attempt that is not counted, as the receiver asked for a wait.
local function wait(d, ms)
	d.attempts, d.waited = d.attempts + 65536, d.waited + ms
	d.rest = d.base .. format('%.0f', d.waited)
end

local function final(d) return d.state == 'd' or d.state == 'f' end
local function orphaned(d) return d.state == 'f' and d.due == hex(1) end
local function orphan(d) d.state, d.due = 'f', hex(1) end
local function record(d) return d.state .. d.due .. format('%08x', d.attempts) .. d.number .. d.rest end

-- An event with more than one delivery is in others: how many are open beside
-- one (8), the number of the first (16), and their ids in fields. One that a
-- replay made is not: it settles the event by itself, for which settledagain
-- counts, or takes part when it ends before the others; then it stands there with
-- its own number (16) between a # and its id.
local others = {}

-- prepare reads what save needs, before the first write. The deliveries were
-- open, and are in the order in which they were changed.
local function prepare(list)
	local events = {}
	for _, d in ipairs(list) do
		touch(d.lane)
		if final(d) and not others[d.event] then
			others[d.event] = { left = 0, first = d.number, ids = to_field(d.id) }
			insert(events, d.event)
		end
	end
	for i, text in ipairs(get(K.others, events)) do
		if text then
			others[events[i]] = { left = tonumber(sub(text, 1, 8), 16), first = sub(text, 9, 24), ids = sub(text, 25), several = true }
		end
	end
end

local function save(list)
	local out, into, records, settled, done, few = {}, {}, {}, {}, {}, {}
	for _, d in ipairs(list) do
		if final(d) or d.due ~= d.was then insert(out, d.lane .. d.was .. d.number .. d.id) end
		if final(d) then
			local o = others[d.event]
			if not find(o.ids, d.id, 1, true) then o.ids = o.ids .. to_field('#' .. d.number .. d.id) end
			if o.left < 0 then -- one by itself
				o.first, o.ids = d.number, to_field(d.id)
			end
			if o.left <= 0 then
				insert(settled, now .. d.seq .. '01' .. to_field(d.owner) .. o.first .. o.ids)
			end
			o.left = o.left - 1
		elseif d.due ~= d.was then
			insert(into, '0')
			insert(into, d.lane .. d.due .. d.number .. d.id)
		end
		insert(records, d.id)
		insert(records, record(d))
	end
	for event, o in pairs(others) do
		if o.left >= 0 then
			insert(few, event)
			insert(few, format('%08x', o.left) .. o.first .. o.ids)
		elseif o.several then
			insert(done, event)
		end
	end
	many('ZREM', K.queue, out)
	many('ZADD', K.queue, into)
	many('HSET', K.deliveries, records)
	many('HSET', K.others, few)
	many('HDEL', K.others, done)
	keep_settled(settled)
	relink()
end
