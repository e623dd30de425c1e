-- Reads deliveries by their ids: id, record and attempts of each, and their events.
local ids, values, list = args(tonumber(arg())), {}, {}
local attempts = get(K.attempts, ids)
for i, value in ipairs(get(K.deliveries, ids)) do
	if value then
		insert(values, value)
		insert(list, ids[i])
		insert(list, value)
		insert(list, attempts[i] or '')
	end
end
return reply(list, with_events(values))
