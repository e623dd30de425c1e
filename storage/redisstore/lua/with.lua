-- keys: events
-- events_of gives events, with_events those of deliveries, each once: id,
-- record.
local function events_of(ids)
	local list = {}
	for i, record in ipairs(get(K.events, ids)) do
		if record and record ~= '' then -- '' of one that was removed
			insert(list, ids[i])
			insert(list, record)
		end
	end
	return list
end

local function with_events(values)
	local ids, seen = {}, {}
	for _, value in ipairs(values) do
		local id = field(value, 58)
		if not seen[id] then
			seen[id] = true
			insert(ids, id)
		end
	end
	return events_of(ids)
end
