-- Terms of a fleet. members has, by term, one text for each:
--
--   ends        16  when the lease is over, in microseconds since 1970
--   lease       16  its length in microseconds; numbers are hexadecimal
--   beats       16  how many beats of the term there were
--   applied     16  the number of the last change that the node follows
--   count        4  how many parts the term has
--   parts      128  these: bit b of byte n, both from 0, is part 8 n + b
--
-- and then fields for what is granted (budget and grant of each, both fields), the node's
-- name, its weight and fingerprint, and for what it says. The generation of each term is in
-- journal, so that a commit reads it with everything else: see runs.lua. count has how many
-- joins and beats there were, and the epoch.
local PARTS = 1024
local FIELDS = 197 -- where the fields begin

-- moment returns the time in microseconds since 1970, by the server's clock if own is ''.
local function moment(own)
	if own ~= '' then return own + 0 end
	local time = call('TIME')
	return time[1] * 1000000 + time[2]
end

-- number_at returns the number that some hexadecimal digits of a text are.
local function number_at(text, first, last) return tonumber(sub(text, first, last), 16) end

-- later returns a time, or when the lease of a text is over if that is later.
local function later(time, text)
	local ends = sub(text, 1, 16)
	return ends > time and ends or time
end

-- terms returns all terms, each followed by its text, and where the text of one of them is.
local function terms(wanted)
	local list, at = call('HGETALL', K.members)
	for i = 1, #list, 2 do
		if list[i] == wanted then at = i + 1 end
	end
	return list, at
end

-- state returns the reply with all that there is.
local function state(now, list, generation)
	local counts = call('HMGET', K.count, 'c', 'b', 'e')
	for i = 1, 3 do counts[i] = counts[i] or '0' end
	return reply('done', hex(now), list, counts, generation)
end
