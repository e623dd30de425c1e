-- The header of scripts that write. A store numbers its calls in each of its 64 slots. ARGV[2]
-- is the call's slot, ARGV[3] its number there (16 digits), ARGV[4] the time by the store's clock.
-- In a script with removal.lua, its limits come next.
local slot, number, now = ARGV[2], ARGV[3], ARGV[4]
word = 4

-- The hash answers of the store has the answer to the last call in each slot, with the call's
-- number. A call that is sent again because its reply was lost gets the same answer, and changes
-- nothing. A call that arrives after a later one of its slot is refused.
local DAY = '86400'

-- answered returns the stored answer if this call was sent before, or nil for a new call.
local function answered()
	local kept = call('HGET', K.answers, slot)
	if not kept then
		-- Either this is the first call in the slot, or all data was removed. After a removal
		-- the script would give new records the numbers of old ones.
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

-- answer stores a list of texts as the answer to this call. All checks come before it; it is
-- the first write of every script. If Redis is out of memory, read-only or short of replicas, it
-- refuses a script's first write, never a later one.
local function answer(list)
	local parts = { number }
	for i, text in ipairs(list) do parts[i + 1] = to_field(text) end
	call('HSET', K.answers, slot, concat(parts))
	if sub(number, -1) == '1' then call('EXPIRE', K.answers, DAY) end -- every 16th call of a slot, from the first
end
