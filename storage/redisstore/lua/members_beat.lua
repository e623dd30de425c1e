-- Extends the lease of a term, and gives it parts and grants of budgets. The documentation of
-- fleet.Members.Beat lists the steps.
local clock, term, generation = arg(), arg(), arg() + 0
local give, want, weight, says = arg(), arg() + 0, arg(), arg()
local seen, lost, other = arg() + 0, arg(), arg()
local suspects, asks = args(arg() + 0), args(arg() + 0)

local done, now = answered(), moment(clock)
local list, at = terms(term)
local was = at and call('HGET', K.journal, 't' .. term) + 0
if not at or generation > was then return reply('fenced') end
if done then return state(now, list, format('%.0f', was)) end
local beats, epoch = counted_beats(seen, lost, other)

-- has reports whether a bit is set in a byte.
local function has(bits, bit) return bits % (2 * bit) >= bit end

local suspected = {}
for _, suspect in ipairs(suspects) do suspected[suspect] = true end
local own, changed, gone, rest = list[at], {}, {}, {}
local lease, count, n = sub(own, 17, 32), number_at(own, 49, 52), 0
local present, ends = hex(now), hex(now + tonumber(lease, 16))
local most, latest = { [lease] = ends }, ends -- most: the latest end allowed, by length of lease
for i = 1, #list, 2 do
	local id, text = list[i], list[i + 1]
	local over, length = sub(text, 1, 16), sub(text, 17, 32)
	if id ~= term and suspected[id] and over <= present then
		insert(gone, id)
	elseif id ~= term then
		most[length] = most[length] or hex(now + tonumber(length, 16))
		if over > most[length] then
			over = most[length]
			text = over .. sub(text, 17)
			insert(changed, id)
			insert(changed, text)
		end
		if over > latest then latest = over end
		rest[n + 1], rest[n + 2] = id, text
		n = n + 2
	end
end

-- Parts. No two terms have the same part. A byte of the free parts is therefore 255 minus that
-- byte of each term.
local parts, moved = sub(own, 53, 180), false
local taken = 0 -- number of parts that others have
for i = 2, want > count and #rest or 0, 2 do taken = taken + number_at(rest[i], 49, 52) end
if give ~= '' or want > count and taken + count < PARTS then
	local bytes, given, free = { byte(parts, 1, -1) }, { byte(give, 1, -1) }, {}
	for n = 1, PARTS / 8 do free[n] = 255 - bytes[n] end
	for i = 2, #rest, 2 do
		for n, bits in ipairs({ byte(rest[i], 53, 180) }) do free[n] = free[n] - bits end
	end
	for n, bits in ipairs(given) do
		for b = 0, 7 do
			local bit = 2 ^ b
			if has(bits, bit) and has(bytes[n], bit) then bytes[n], count, moved = bytes[n] - bit, count - 1, true end
		end
	end
	for n, bits in ipairs(free) do
		for b = 0, bits > 0 and count < want and 7 or -1 do
			local bit = 2 ^ b
			if count < want and has(bits, bit) and not has(given[n] or 0, bit) then
				bytes[n], count, moved = bytes[n] + bit, count + 1, true
			end
		end
	end
	parts = char(unpack(bytes))
end
local raised = format('%.0f', moved and was + 1 or was)

-- Grants. left is the amount of each budget that the grants of other terms leave.
local left, granted = {}, {}
for i = 1, #asks, 3 do left[asks[i]] = asks[i + 1] + 0 end
for i = 2, #asks > 0 and #rest or 0, 2 do
	local text = rest[i]
	local _, colon, length = find(text, '^(%d+):', FIELDS)
	local from, last = colon + 1, colon + length
	while from <= last do
		local budget, grant
		budget, from = field(text, from)
		grant, from = field(text, from)
		if left[budget] then left[budget] = left[budget] - grant end
	end
end
for i = 1, #asks, 3 do
	insert(granted, to_field(asks[i]) .. to_field(format('%.17g', max(min(asks[i + 2] + 0, left[asks[i]]), 0))))
end

local _, from = field(own, FIELDS)
local name, fingerprint
name, from = field(own, from)
_, from = field(own, from)
fingerprint = field(own, from)
local text = ends .. lease .. hex(number_at(own, 33, 48) + 1) .. format('%04x', count) .. parts
	.. to_field(concat(granted)) .. to_field(name) .. to_field(weight) .. to_field(fingerprint) .. to_field(says)
for _, t in ipairs({ term, text }) do
	insert(changed, t)
	insert(rest, t)
end

answer({})
end_terms(gone)
many('HSET', K.members, changed)
call('HSET', K.journal, 't' .. term, raised)
keep_latest(latest)
keep_beat(beats, epoch)
return state(now, rest, raised)
