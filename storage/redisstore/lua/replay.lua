-- Replays. replays has, by endpoint, the fields below: state is r for running or d for
-- done, updated is when the replay last changed, fixed is for the store alone. replaysdue
-- is sorted: due (16 digits), endpoint of each replay that is running.
local replay_fields = { 'owner', 'id', 'state', 'cursor', 'last', 'created', 'reopened', 'left', 'removed', 'due', 'updated', 'fixed' }

-- replay_of returns the replay of an endpoint and its text, nil if there is none.
local function replay_of(endpoint)
	local text = call('HGET', K.replays, endpoint)
	if not text then return nil end
	local r, at = {}, 1
	for _, name in ipairs(replay_fields) do r[name], at = field(text, at) end
	return r, text
end

local function to_replay(r)
	local parts = {}
	for i, name in ipairs(replay_fields) do
		local v = r[name]
		parts[i] = to_field(type(v) == 'number' and format('%d', v) or v)
	end
	return concat(parts)
end

-- keep_replay writes a replay. was is when it was due before, '' for a new one.
local function keep_replay(endpoint, r, text, was)
	call('HSET', K.replays, endpoint, text)
	if was ~= '' then call('ZREM', K.replaysdue, was .. endpoint) end
	if r.state == 'r' then call('ZADD', K.replaysdue, '0', r.due .. endpoint) end
end
