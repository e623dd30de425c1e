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

-- lives has, for each event with deliveries, the number of open ones (8 digits), the event's turn,
-- which is how often it has ended (8), and a field for the id of each delivery.
local lives = {} -- by event

local function parse_life(text)
	if not text then return { open = 0, turn = 0, ids = '' } end
	return { open = tonumber(sub(text, 1, 8), 16), turn = tonumber(sub(text, 9, 16), 16), ids = sub(text, 17) }
end

-- life_of returns the life of an event. keep_lives writes those that were returned.
local function life_of(event)
	lives[event] = lives[event] or parse_life(call('HGET', K.lives, event))
	return lives[event]
end

local function keep_lives()
	local texts = {}
	for event, life in pairs(lives) do
		insert(texts, event)
		insert(texts, format('%08x%08x', life.open, life.turn) .. life.ids)
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
	for i, text in ipairs(get(K.lives, events)) do lives[events[i]] = parse_life(text) end
end

-- save writes the deliveries. It adds each event that has no open delivery left to settled.
local function save(list)
	local out, into, records, settled = {}, {}, {}, {}
	for _, d in ipairs(list) do
		if final(d) or d.due ~= d.was then insert(out, d.lane .. d.was .. d.number .. d.id) end
		if final(d) then
			local life = lives[d.event]
			life.open = max(life.open - 1, 0) -- 0 if a Sweep has removed the event's other deliveries
			if life.open == 0 then
				life.turn = life.turn + 1
				insert(settled, now .. d.seq .. '01' .. to_field(d.owner) .. format('%08x', life.turn))
			end
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
