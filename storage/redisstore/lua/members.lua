-- Terms of a fleet. members has one text for each, by term:
--
--   ends        16  when the lease expires, in microseconds since 1970
--   lease       16  length of the lease in microseconds (all numbers are hexadecimal)
--   beats       16  the number of beats of the term
--   count        4  the number of its parts
--   parts      128  its parts: bit b of byte n, both from 0, is part 8 n + b
--
-- Then come fields: the grants (a field for budget and amount of each), the node's name, weight and
-- fingerprint, and the data that it publishes (Says). The generation of each term is in journal:
-- see runs.lua. The hash count has the number of joins and beats (b) and the epoch (e).
local PARTS = 1024
local FIELDS = 181 -- where the fields begin

-- moment returns the time in microseconds since 1970: own, or the server's time if own is ''.
local function moment(own)
	if own ~= '' then return own + 0 end
	local time = call('TIME')
	return time[1] * 1000000 + time[2]
end

-- number_at parses hexadecimal digits within a text.
local function number_at(text, first, last) return tonumber(sub(text, first, last), 16) end

-- later returns the later of two times: time, and the end of the lease in a term's text.
local function later(time, text)
	local ends = sub(text, 1, 16)
	return ends > time and ends or time
end

-- terms returns a list of all terms, each followed by its text, and the position in it of the
-- wanted term's text.
local function terms(wanted)
	local list, at = call('HGETALL', K.members)
	for i = 1, #list, 2 do
		if list[i] == wanted then at = i + 1 end
	end
	return list, at
end

-- state returns a reply with the whole state of the fleet. list is that of terms.
local function state(now, list, generation)
	local counts = call('HMGET', K.count, 'b', 'e')
	for i = 1, 2 do counts[i] = counts[i] or '0' end
	return reply('done', hex(now), list, counts, generation)
end
