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
		attempts = tonumber(sub(value, 18, 25), 16), number = sub(value, 26, 41), seq = sub(value, 42, 57), rest = sub(value, 26) }
	local at
	d.event, at = field(value, 58)
	d.owner, at = field(value, at)
	d.lane, d.after_lane = field(value, at)
	return d
end

-- unwaited returns what follows attempts without the wait at the end, and the wait.
local function unwaited(d)
	local at = d.after_lane - 25
	for _ = 1, 3 do
		local _
		_, at = field(d.rest, at)
	end
	return sub(d.rest, 1, at + 8), tonumber(sub(d.rest, at + 9)) or 0
end

-- wait records that the receiver asked to wait for ms milliseconds. The attempt does not count.
local function wait(d, ms)
	local base, waited = unwaited(d)
	d.attempts, d.rest = d.attempts + 65536, base .. format('%.0f', waited + ms)
end

local function final(d) return d.state == 'd' or d.state == 'f' end

-- orphan ends a delivery because its endpoint is deleted. orphaned reports whether a
-- delivery ended that way.
local function orphan(d) d.state, d.due = 'f', hex(1) end
local function orphaned(d) return d.state == 'f' and d.due == hex(1) end

local function record(d) return d.state .. d.due .. format('%08x', d.attempts) .. d.rest end

-- lives has, for each event with several deliveries, the number of open ones (8 digits), the
-- event's turn, which is how often it has ended (8), and a field for the id of each delivery. An
-- event that is recorded with one delivery has no life until that is reopened or another comes.
local lives = {} -- by event

-- live adds to the number of open deliveries of an event, and ids to its ids. first is its life if
-- it has none yet. live returns the event's turn if it ends with it. keep_lives writes the changes.
local function live(event, more, first, ids)
	local text = lives[event] or first
	local open = max(tonumber(sub(text, 1, 8), 16) + more, 0) -- a Sweep may have removed others
	local turn, ended = sub(text, 9, 16), open == 0
	if ended then turn = format('%08x', tonumber(turn, 16) + 1) end
	lives[event] = format('%08x', open) .. turn .. sub(text, 17) .. (ids or '')
	return ended and turn
end

local function keep_lives()
	local texts, n = {}, 0
	for event, life in pairs(lives) do
		texts[n + 1], texts[n + 2] = event, life
		n = n + 2
	end
	many('HSET', K.lives, texts)
end

-- prepare reads the data that save needs. list has the changed deliveries in order of change; all
-- were open before.
local function prepare(list)
	local events = {}
	for _, d in ipairs(list) do
		touch(d.lane)
		if final(d) then insert(events, d.event) end
	end
	for i, text in ipairs(get(K.lives, events)) do lives[events[i]] = text or nil end
end

-- save writes the deliveries. It adds each event that has no open delivery left to settled.
local function save(list)
	local out, into, records, settled = {}, {}, {}, {}
	for _, d in ipairs(list) do
		if final(d) or d.due ~= d.was then insert(out, d.lane .. d.was .. d.number .. d.id) end
		if final(d) then
			local turn = '00000001'
			if lives[d.event] then turn = live(d.event, -1) end
			if turn then insert(settled, now .. d.seq .. '01' .. to_field(d.owner) .. turn) end
		elseif d.due ~= d.was then
			insert(into, '0')
			insert(into, d.lane .. d.due .. d.number .. d.id)
		end
		insert(records, d.id)
		insert(records, record(d))
	end
	many('ZREM', K.queue, out)
	many('ZADD', K.queue, into)
	many('HSET', K.deliveries, records)
	keep_lives()
	keep_settled(settled)
	relink()
end
