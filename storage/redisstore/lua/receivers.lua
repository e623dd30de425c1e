-- uses: count lane
-- keys: deliveries log others
-- The deliveries of a commit: id, lane, due, record of each.
local deliveries, logged, queued, others = {}, {}, {}, {}

-- try_deliveries makes those of a new event.
local function try_deliveries(event, owner, seq, several)
	if several > 1 then
		local all = {}
		for k = 1, several do all[k] = to_field(ARGV[word + 4 * k - 3]) end
		insert(others, event)
		insert(others, format('%08x', several - 1) .. hex(upcoming_number()) .. table.concat(all))
	end
	for k = word + 1, word + 4 * several, 4 do
		local id, lane, due, number = ARGV[k], ARGV[k + 1], ARGV[k + 2], hex(next_number())
		touch(lane)
		insert(deliveries, id)
		insert(deliveries, 'p' .. due .. '00000000' .. number .. seq .. ARGV[k + 3])
		insert(logged, '0')
		insert(logged, owner .. number .. id)
		insert(queued, '0')
		insert(queued, lane .. due .. number .. id)
	end
end

local function keep_deliveries()
	if #deliveries == 0 then return end
	many('HSET', K.deliveries, deliveries)
	many('ZADD', K.log, logged)
	many('HSET', K.others, others)
	many('ZADD', K.queue, queued)
	relink()
	keep_count()
end
