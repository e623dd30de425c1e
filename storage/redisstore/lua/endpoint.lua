-- Endpoints. The hash endpoints has the fields below, by id. source and bound both name the
-- source, in the formats of endpointorder and journal. Only Go code reads fixed (the parts that
-- never change) and record (the whole endpoint). endpointorder is sorted: owner, source,
-- number, id of each. urls has the id of an endpoint by source and URL. journal lists the
-- endpoints bound to each source: see runs.lua.
local endpoint_fields = { 'owner', 'source', 'bound', 'url', 'status', 'version', 'number', 'fixed', 'record' }

-- endpoint returns an owner's endpoint, or nil if there is none.
local function endpoint(id, owner)
	local text = call('HGET', K.endpoints, id)
	if not text then return nil end
	local e, at = { id = id }, 1
	for _, name in ipairs(endpoint_fields) do e[name], at = field(text, at) end
	return e.owner == owner and e or nil
end

local function keep_endpoint(e)
	local parts = {}
	for i, name in ipairs(endpoint_fields) do parts[i] = to_field(e[name]) end
	call('HSET', K.endpoints, e.id, concat(parts))
end

-- place returns an endpoint's member of endpointorder.
local function place(e) return e.owner .. e.source .. e.number .. e.id end

-- rebind stores the list of active endpoints bound to the source of endpoint e.
local function rebind(e)
	local prefix, ids, active = e.owner .. e.source, {}, {}
	for i, member in ipairs(call('ZRANGEBYLEX', K.endpointorder, '[' .. prefix, '(' .. after(prefix))) do
		ids[i] = sub(member, #prefix + 17)
	end
	for i, text in ipairs(get(K.endpoints, ids)) do
		local status, at = nil, 1
		for _ = 1, 5 do status, at = field(text, at) end
		if status == 'active' then insert(active, to_field(ids[i])) end
	end
	if #active == 0 then
		call('HDEL', K.journal, 'b' .. e.bound)
	else
		call('HSET', K.journal, 'b' .. e.bound, concat(active))
	end
end
