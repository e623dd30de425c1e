-- The deliveries of a commit.
local deliveries, logged, queued, lives = {}, {}, {}, {}
local made = 0 -- number of items in each of deliveries, logged and queued

-- make_deliveries makes the deliveries of a new event; several is their number. It reads
-- arguments of the script: the event's life; id, lane, due and record of each delivery.
-- keep_deliveries writes them. It returns the event's run.
local function make_deliveries(event, owner, seq, several)
	if several > 1 then lives[#lives + 1], lives[#lives + 2] = event, ARGV[word + 1] end
	for k = word + 2, word + 4 * several, 4 do
		local id, lane, due, number = ARGV[k], ARGV[k + 1], ARGV[k + 2], hex(next_number())
		touch(lane, due .. number)
		deliveries[made + 1], deliveries[made + 2] = id, 'p' .. due .. '00000000' .. number .. seq .. ARGV[k + 3]
		logged[made + 1], logged[made + 2] = '0', owner .. number .. id
		queued[made + 1], queued[made + 2] = '0', lane .. due .. number .. id
		made = made + 2
	end
	return several > 1 and to_run({ event }, 1, 1) or '=' .. to_field(event) .. ARGV[word + 2]
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
