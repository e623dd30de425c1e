-- The deliveries of a commit.
local deliveries, logged, queued, lives = {}, {}, {}, {}
local made = 0 -- number of items in each of deliveries, logged and queued

-- make_deliveries makes the deliveries of a new event; several is their number. It reads
-- arguments of the script: id, lane, due and record of each. keep_deliveries writes them.
local function make_deliveries(event, owner, seq, several)
	local all = {}
	for k = 1, several do all[k] = to_field(ARGV[word + 4 * k - 3]) end
	insert(lives, event)
	insert(lives, format('%08x00000000', several) .. concat(all))
	for k = word + 1, word + 4 * several, 4 do
		local id, lane, due, number = ARGV[k], ARGV[k + 1], ARGV[k + 2], hex(next_number())
		touch(lane)
		deliveries[made + 1], deliveries[made + 2] = id, 'p' .. due .. '00000000' .. number .. seq .. ARGV[k + 3]
		logged[made + 1], logged[made + 2] = '0', owner .. number .. id
		queued[made + 1], queued[made + 2] = '0', lane .. due .. number .. id
		made = made + 2
	end
end

local function keep_deliveries()
	if made == 0 then return end
	many('HSET', K.deliveries, deliveries)
	many('ZADD', K.log, logged)
	many('HSET', K.lives, lives)
	many('ZADD', K.queue, queued)
	relink()
	keep_count()
end
