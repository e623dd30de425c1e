-- events_of returns id and record of each event that is still stored.
local function events_of(ids)
	local list = {}
	for i, record in ipairs(get(K.events, ids)) do
		if record and record ~= '' then -- '' when retention removed it
			insert(list, ids[i])
			insert(list, record)
		end
	end
	return list
end

-- with_events returns the events of deliveries, without duplicates.
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
