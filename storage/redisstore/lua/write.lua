-- The header of scripts that write. ARGV[2] to ARGV[4] are the slot of the call, its
-- number in that slot, and '' or, from time to time, until when the answers of its store
-- are kept, with the store's name; ARGV[5] is the time of the store's clock. In a script
-- with removal.lua its limits come next.
local slot, number, client, now = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
word = 5

-- The answer of the last call in each slot is kept in journal, with the number of the
-- call, which is 16 digits and grows. A call that is sent again because its reply was lost
-- gets the same answer, and changes nothing. A call that arrives after a later one of its
-- slot is refused. clients has, by store, until when its answers are kept.

-- keep_client is called for each new call, also for one that is refused: the store renews
-- nothing more for a while.
local function keep_client()
	if client ~= '' then call('HSET', K.clients, sub(client, 17), sub(client, 1, 16)) end
end

-- answered returns the answer that this call got before, nil for a new call. A script that
-- has read the field of the slot passes its value.
local function answered(kept)
	if kept == nil then kept = call('HGET', K.journal, slot) end
	if not kept then
		-- Either this is the first call in the slot, or all data was removed. In that
		-- case numbers that others have seen would be given again.
		if call('EXISTS', K.version) == 0 then error('streamwatch: the data was removed while the store was open') end
		keep_client()
		return nil
	end
	local was, at = sub(kept, 1, 16), 17
	if was > number then error('streamwatch: a call that came too late') end
	if was < number then
		keep_client()
		return nil
	end
	local list = {}
	while at <= #kept do list[#list + 1], at = field(kept, at) end
	return list
end

-- to_answer returns the text that is kept for a list of texts.
local function to_answer(list)
	local parts = { number }
	for i, text in ipairs(list) do parts[i + 1] = to_field(text) end
	return concat(parts)
end

-- answer keeps a list of texts as the answer of this call. It is the first write of every
-- script, after all checks, but for that of keep_client: if Redis is out of memory,
-- read-only or short of replicas, it refuses the first write of a script, and never a later
-- one.
local function answer(list)
	call('HSET', K.journal, slot, to_answer(list))
	return list
end
