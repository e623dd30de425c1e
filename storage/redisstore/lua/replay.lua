-- keys: replays replaysdue
-- A replay stands under its endpoint's id, in fields: owner, id, state (r for
-- running, d), cursor, last, created, reopened, left, removed, due, when it moved,
-- and what only the caller reads. Those running are in replaysdue, due (16) and
-- endpoint.
local replay_fields = { 'owner', 'id', 'state', 'cursor', 'last', 'created', 'reopened', 'left', 'removed', 'due', 'updated', 'fixed' }

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

-- keep_replay replaces what was due at was, '' for nothing.
local function keep_replay(endpoint, r, text, was)
	call('HSET', K.replays, endpoint, text)
	if was ~= '' then call('ZREM', K.replaysdue, was .. endpoint) end
	if r.state == 'r' then call('ZADD', K.replaysdue, '0', r.due .. endpoint) end
end
