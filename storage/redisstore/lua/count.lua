-- Records, deliveries and ledger entries are numbered by one counter, field n of the hash
-- count, and sorted by number. A script reads the counter when it first needs it.
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
