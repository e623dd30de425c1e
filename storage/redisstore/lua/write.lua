-- The header of scripts that write. A store numbers its calls in each of its 64 slots. ARGV[2]
-- is the call's slot, ARGV[3] its number there. ARGV[4] is usually ''. From time to time it is
-- a new time limit for the store's answers (16 digits) and the store's name. ARGV[5] is the
-- time by the store's clock. In a script with removal.lua, its limits come next.
local slot, number, client, now = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
word = 5

-- journal has the answer to the last call in each slot, with the call's number (16 digits). A
-- call that is sent again because its reply was lost gets the same answer, and changes nothing.
-- A call that arrives after a later one of its slot is refused. The hash clients has the time
-- limit of each store's answers.

-- keep_client stores the time limit if the call carries one. Every new call must do so, even if
-- the script then refuses it: the store does not soon send the limit again.
local function keep_client()
	if client ~= '' then call('HSET', K.clients, sub(client, 17), sub(client, 1, 16)) end
end

-- answered returns the stored answer if this call was sent before, or nil for a new call. kept
-- is the value of the slot's field, if the script has already read it.
local function answered(kept)
	if kept == nil then kept = call('HGET', K.journal, slot) end
	if not kept then
		-- Either this is the first call in the slot, or all data was removed. After a removal
		-- the script would give new records the numbers of old ones.
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

-- to_answer returns the stored form of a list of texts.
local function to_answer(list)
	local parts = { number }
	for i, text in ipairs(list) do parts[i + 1] = to_field(text) end
	return concat(parts)
end

-- answer stores a list of texts as the answer to this call. All checks come before it; it is
-- the first write of every script, except that of keep_client. If Redis is out of memory,
-- read-only or short of replicas, it refuses a script's first write, never a later one.
local function answer(list)
	call('HSET', K.journal, slot, to_answer(list))
	return list
end
