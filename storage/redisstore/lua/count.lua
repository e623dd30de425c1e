-- keys: count
-- One count orders everything that is made.
local counted = tonumber(call('HGET', K.count, 'n') or '0')

local function next_number()
	counted = counted + 1
	return counted
end

local function keep_count() call('HSET', K.count, 'n', format('%d', counted)) end
