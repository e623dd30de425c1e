-- Records, deliveries and ledger entries are numbered by one counter, field n of the hash
-- count, and sorted by number. A script reads the counter when it first needs it.
local counted

local function next_number()
	counted = (counted or tonumber(call('HGET', K.count, 'n') or '0')) + 1
	return counted
end

local function keep_count() call('HSET', K.count, 'n', format('%d', counted)) end
