-- uses: tidy settled
-- keys: settledagain events byowner seqs firsts deliveries attempts log forgotten forgottenorder
-- without_reopened leaves out what was settled before its event was reopened:
-- settledagain says how many times an event stands in settled too often.
local function without_reopened(list)
	if #list == 0 or call('EXISTS', K.settledagain) == 0 then return list end
	local events, kept = {}, {}
	for i, e in ipairs(list) do
		local _, at = field(e, 49)
		_, at = field(e, at)
		events[i] = sub(e, at)
	end
	local again = {}
	for i, n in ipairs(get(K.settledagain, events)) do again[events[i]] = tonumber(n or '0') end
	for i, event in ipairs(events) do
		if again[event] == 0 then
			insert(kept, list[i])
		else
			again[event] = again[event] - 1
			if call('HINCRBY', K.settledagain, event, '-1') == 0 then call('HDEL', K.settledagain, event) end
		end
	end
	return kept
end

-- raise finds the first event that an owner still has, in steps.
local function raise(owner)
	local first = tonumber(call('HGET', K.firsts, owner) or '1')
	local last = tonumber(call('HGET', K.seqs, owner) or '0')
	local was, there = first, false
	repeat
		local fields = {}
		for seq = first, min(first + 127, last) do insert(fields, owner .. hex(seq)) end
		for _, id in ipairs(get(K.byowner, fields)) do
			there = there or id
			if not there then first = first + 1 end
		end
	until there or first > last or first - was > 16 * step
	if first ~= was then call('HSET', K.firsts, owner, format('%d', first)) end
end

local function tidy_events(most)
	local excess = call('HLEN', K.events) - max_events
	if may_go(excess) then
		local list = without_reopened(first_settled(excess, most))
		local ids, numbered, deliveries, logged, owners = {}, {}, {}, {}, {}
		for i, e in ipairs(list) do
			local owner, at = field(e, 49)
			local of
			of, at = field(e, at)
			ids[i], numbered[i], owners[owner] = sub(e, at), owner .. sub(e, 17, 32), true
			local n
			n, at = tonumber(sub(e, 33, 48), 16), 1
			while at <= #of do
				local id
				id, at = field(of, at)
				deliveries[#deliveries + 1] = id
				logged[#logged + 1] = owner .. hex(n) .. id
				n = n + 1
			end
		end
		many('HDEL', K.events, ids)
		many('HDEL', K.byowner, numbered)
		many('HDEL', K.deliveries, deliveries)
		many('HDEL', K.attempts, deliveries)
		many('ZREM', K.log, logged)
		for owner in pairs(owners) do raise(owner) end
		remember(K.forgotten, K.forgottenorder, ids)
	end
	forget_ids(K.forgotten, K.forgottenorder, most)
end
