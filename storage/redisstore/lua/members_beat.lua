-- Prolongs a lease, and hands out parts and budgets. Its steps are those of fleet.Members.
local clock, term, generation = arg(), arg(), arg() + 0
local give, want, weight, applied, says = arg(), arg() + 0, arg(), arg(), arg()
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
local lease, count, latest, taken = number_at(own, 17, 32), number_at(own, 65, 68), 0, 0
for i = 1, #list, 2 do
	local id, text = list[i], list[i + 1]
	local ends, most = number_at(text, 1, 16), now + number_at(text, 17, 32)
	if id ~= term then
		if suspected[id] and ends <= now then
			insert(gone, id)
		else
			if ends > most then
				ends, text = most, hex(most) .. sub(text, 17)
				insert(changed, id)
				insert(changed, text)
			end
			latest, taken = max(latest, ends), taken + number_at(text, 65, 68)
			insert(rest, id)
			insert(rest, text)
		end
	end
end

-- Parts. A byte of the free ones is what others leave of it, because no two terms have the
-- same part.
local parts, moved = sub(own, 69, 196), false
if give ~= '' or want > count and taken + count < PARTS then
	local mine, given, free = { byte(parts, 1, -1) }, { byte(give, 1, -1) }, {}
	for n = 1, PARTS / 8 do free[n] = 255 - mine[n] end
	for i = 2, #rest, 2 do
		for n, bits in ipairs({ byte(rest[i], 69, 196) }) do free[n] = free[n] - bits end
	end
	for n, bits in ipairs(given) do
		for b = 0, 7 do
			local bit = 2 ^ b
			if has(bits, bit) and has(mine[n], bit) then mine[n], count, moved = mine[n] - bit, count - 1, true end
		end
	end
	for n, bits in ipairs(free) do
		for b = 0, bits > 0 and count < want and 7 or -1 do
			local bit = 2 ^ b
			if count < want and has(bits, bit) and not has(given[n] or 0, bit) then
				mine[n], count, moved = mine[n] + bit, count + 1, true
			end
		end
	end
	parts = char(unpack(mine))
end
local present = format('%.0f', moved and was + 1 or was)

local granted = {}
for i = 1, #asks, 3 do
	local budget = to_field(asks[i])
	local free = asks[i + 1] + 0
	for k = 2, #rest, 2 do
		local grants, from = field(rest[k], FIELDS), 1
		while from <= #grants do
			local name, grant
			name, from = field(grants, from)
			grant, from = field(grants, from)
			if name == asks[i] then free = free - grant end
		end
	end
	insert(granted, budget .. to_field(format('%.17g', max(min(asks[i + 2] + 0, free), 0))))
end

local _, from = field(own, FIELDS)
local name, fingerprint
name, from = field(own, from)
_, from = field(own, from)
fingerprint = field(own, from)
local text = hex(now + lease) .. hex(lease) .. hex(number_at(own, 33, 48) + 1) .. applied .. format('%04x', count) .. parts
	.. to_field(concat(granted)) .. to_field(name) .. to_field(weight) .. to_field(fingerprint) .. to_field(says)
for _, t in ipairs({ term, text }) do
	insert(changed, t)
	insert(rest, t)
end

answer({})
end_terms(gone)
many('HSET', K.members, changed)
call('HSET', K.journal, 't' .. term, present)
keep_latest(max(latest, now + lease))
keep_beat(beats, epoch)
return state(now, rest, present)
