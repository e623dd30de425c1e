-- keys: journal clients version
-- A call that writes has a slot of its store and a number, of 16 digits, that
-- grows with every call in that slot. What was answered last is kept there, in
-- journal: the same call again, after a lost reply, gets the same answer and
-- changes nothing, and one that was overtaken is refused. Once in a while a call
-- says, in clients, until when its store may ask again: time, and the store.
local slot, number, client = ARGV[2], ARGV[3], ARGV[4]

-- answered gives what this very call was answered before, nil when it is new.
-- Who has read what is kept in the slot says so.
local function answered(kept)
	if kept == nil then kept = call('HGET', K.journal, slot) end
	if not kept then
		-- The first call in this slot, or everything was removed: who goes on
		-- then gives numbers again that others have seen.
		if call('EXISTS', K.version) == 0 then error('streamwatch: the data was removed while the store was open') end
		return nil
	end
	local was, at = sub(kept, 1, 16), 17
	if was > number then error('streamwatch: a call that came too late') end
	if was < number then return nil end
	local list = {}
	while at <= #kept do list[#list + 1], at = field(kept, at) end
	return list
end

-- to_answer makes what is kept of an answer of one text.
local function to_answer(text) return number .. to_field(text) end

local function keep_client()
	if client ~= '' then call('HSET', K.clients, sub(client, 17), sub(client, 1, 16)) end
end

-- answer keeps a list of texts as the answer. It is the first write of every
-- script, after all checks: Redis refuses a first write when it is out of
-- memory, read-only or short of replicas, and lets the others pass.
local function answer(list)
	local parts = { number }
	for i, text in ipairs(list) do parts[i + 1] = to_field(text) end
	call('HSET', K.journal, slot, concat(parts))
	keep_client()
	return list
end
