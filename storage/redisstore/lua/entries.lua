-- uses: with
-- keys: deliveries attempts
-- log_entries shows deliveries: id, record and attempts of each, and events.
local function log_entries(ids)
	local values, list = {}, {}
	local attempts = get(K.attempts, ids)
	for i, value in ipairs(get(K.deliveries, ids)) do
		if value then
			insert(values, value)
			insert(list, ids[i])
			insert(list, value)
			insert(list, attempts[i] or '')
		end
	end
	return list, with_events(values)
end
