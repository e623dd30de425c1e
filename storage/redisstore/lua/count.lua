-- Every new record gets the next number of one counter, and is sorted by it. The counter
-- is read when it is first needed.
local counted

local function upcoming_number()
	counted = counted or tonumber(call('HGET', K.count, 'n') or '0')
	return counted + 1
end

local function next_number()
	counted = upcoming_number()
	return counted
end

local function keep_count() call('HSET', K.count, 'n', format('%d', counted)) end
