-- uses: journal
-- keys: endpoints endpointorder urls
-- An endpoint has these fields: owner, source, bound, url, status, version,
-- number, and two that only the caller reads: what never changes, and the whole.
-- Those of a source stand in endpointorder with owner and source before their
-- number; the bound of its source is in journal.
local endpoint_fields = { 'owner', 'source', 'bound', 'url', 'status', 'version', 'number', 'fixed', 'record' }

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

-- place is where an endpoint stands in endpointorder.
local function place(e) return e.owner .. e.source .. e.number .. e.id end

-- rebind sets right what is bound to an endpoint's source.
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
