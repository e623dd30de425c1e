-- Replays. The hash replays has a deliver.Replay as JSON, by endpoint, with one more value: Next is
-- Due as 16 digits. replaysdue is sorted: Next, endpoint of each running replay.

-- replay_of returns the replay of an endpoint and its text, or nil if there is none.
local function replay_of(endpoint)
	local text = call('HGET', K.replays, endpoint)
	if not text then return nil end
	return cjson.decode(text), text
end

-- keep_replay writes a replay as its new text. was is its previous Next, nil for a new one.
local function keep_replay(endpoint, r, text, was)
	call('HSET', K.replays, endpoint, text)
	if was then call('ZREM', K.replaysdue, was .. endpoint) end
	if r.State == 'running' then call('ZADD', K.replaysdue, '0', r.Next .. endpoint) end
end
