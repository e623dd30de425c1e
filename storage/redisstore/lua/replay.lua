-- Replays. The hash replays has the fields below, by endpoint. state is r for running or d for
-- done. updated is the time of the last change. Only Go code reads fixed. replaysdue is sorted:
-- due (16 digits), endpoint of each running replay.
local replay_fields = { 'owner', 'id', 'state', 'cursor', 'last', 'created', 'reopened', 'left', 'removed', 'due', 'updated', 'fixed' }

-- replay_of returns the replay of an endpoint and its text, or nil if there is none.
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

-- keep_replay writes a replay. was is its previous due time, '' for a new one.
local function keep_replay(endpoint, r, text, was)
	call('HSET', K.replays, endpoint, text)
	if was ~= '' then call('ZREM', K.replaysdue, was .. endpoint) end
	if r.state == 'r' then call('ZADD', K.replaysdue, '0', r.due .. endpoint) end
end
