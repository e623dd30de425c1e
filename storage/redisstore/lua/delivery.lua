-- Deliveries. deliveries has one text for each, by id:
--
--   state        1  p pending, r retrying, d delivered, f failed; the last two are final
--   due         16  0 if the delivery is final, or 1 if deleting its endpoint ended it
--   attempts     8  lower 16 bits: how many attempts; upper bits: how many do not count
--   number      16  of the delivery; log and queue are sorted by it
--   seq         16  the sequence number of the event
--
-- Then come fields for event, owner, lane, source, author and kind of source, and 9 bytes that
-- only Go code reads. At the end is the wait in milliseconds that the receiver has asked for,
-- or nothing.

-- open_delivery parses the text of a delivery. record formats it.
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

-- wait records that the receiver asked to wait for ms milliseconds. The attempt does not count.
local function wait(d, ms)
	d.attempts, d.waited = d.attempts + 65536, d.waited + ms
	d.rest = d.base .. format('%.0f', d.waited)
end

local function final(d) return d.state == 'd' or d.state == 'f' end

-- orphan ends a delivery because its endpoint is deleted. orphaned reports whether a
-- delivery ended that way.
local function orphan(d) d.state, d.due = 'f', hex(1) end
local function orphaned(d) return d.state == 'f' and d.due == hex(1) end

local function record(d) return d.state .. d.due .. format('%08x', d.attempts) .. d.number .. d.rest end

-- others has an entry for each event with several deliveries: the number of open ones minus 1
-- (8 digits), the number of the first delivery (16), and a field for the id of each. An entry
-- does not count deliveries made by a replay. When such a delivery ends before the others, a
-- field with #, its number and its id is added. When it ends after them, the event gets another
-- item in settled: see settledagain in removal_events.lua.
local others = {} -- by event

-- prepare reads the data that save needs. list has the changed deliveries in order of change; all
-- were open before.
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

-- save writes the deliveries. It adds each event that has no open delivery left to settled.
local function save(list)
	local out, into, records, settled, done, few = {}, {}, {}, {}, {}, {}
	for _, d in ipairs(list) do
		if final(d) or d.due ~= d.was then insert(out, d.lane .. d.was .. d.number .. d.id) end
		if final(d) then
			local o = others[d.event]
			if not find(o.ids, d.id, 1, true) then o.ids = o.ids .. to_field('#' .. d.number .. d.id) end
			if o.left < 0 then -- the others ended before it
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
