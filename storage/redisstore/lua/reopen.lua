-- Makes final deliveries pending again.
local reopened = {}

-- try_reopen notes a delivery to make pending. Call it before the first write. keep_reopened
-- makes the changes. Call it once, after the first write.
local function try_reopen(d)
	insert(reopened, d)
	lives[d.event] = lives[d.event] or call('HGET', K.lives, d.event) or nil
	live(d.event, 1, '0000000000000001' .. to_field(d.id))
	touch(d.lane)
end

local function keep_reopened(due)
	local records, into = {}, {}
	for _, d in ipairs(reopened) do
		local tried = d.attempts % 65536
		insert(records, d.id)
		insert(records, 'p' .. due .. format('%08x', tried * 65537) .. (unwaited(d)))
		insert(into, '0')
		insert(into, d.lane .. due .. d.number .. d.id)
	end
	many('HSET', K.deliveries, records)
	many('ZADD', K.queue, into)
	keep_lives()
end
