-- keys: replies version
-- A call that writes has a slot of its store and a number, of 16 digits, that
-- grows with every call in that slot. What was answered last is kept there: the
-- same call again, after a lost reply, gets the same answer and changes nothing,
-- and one that was overtaken is refused.
local slot, number, lasting, renew = ARGV[2], ARGV[3], ARGV[4], ARGV[5]

-- answered gives what this very call was answered before, nil when it is new.
local function answered()
	local kept = call('HGET', K.replies, slot)
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

-- answer keeps a list of texts as the answer. It is the first write of every
-- script, after all checks: Redis refuses a first write when it is out of
-- memory, read-only or short of replicas, and lets the others pass.
local function answer(list)
	local parts = { number }
	for i, text in ipairs(list) do parts[i + 1] = to_field(text) end
	local new = call('HSET', K.replies, slot, table.concat(parts))
	if new == 1 or renew == '1' then call('PEXPIRE', K.replies, lasting) end
	return list
end
