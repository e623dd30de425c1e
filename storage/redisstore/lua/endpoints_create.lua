-- Creates an endpoint. Arguments: id, and the fields of endpoint.lua except number.
local given = answered()
if given then return reply(given[1]) end

local e = { id = arg() }
for _, name in ipairs(endpoint_fields) do
	e[name] = name == 'number' and '' or arg()
end
if call('HEXISTS', K.endpoints, e.id) == 1 or call('HEXISTS', K.urls, e.url) == 1 then return reply('duplicate') end

answer({ 'done' })
e.number = hex(next_number())
keep_endpoint(e)
call('HSET', K.urls, e.url, e.id)
call('ZADD', K.endpointorder, '0', place(e))
rebind(e)
keep_count()
keep_change('e', e.owner, e.id)
return reply('done')
