-- Replaces an endpoint, unless its version has changed since the caller read it.
local given = answered()
if given then return reply(given[1]) end

local id, owner, path, status, version, next_version, record = arg(), arg(), arg(), arg(), arg(), arg(), arg()
local e = endpoint(id, owner)
if not e then return reply('unknown') end
if e.version ~= version then return reply('conflict') end
local url = to_field(e.bound) .. path
if url ~= e.url and call('HEXISTS', K.urls, url) == 1 then return reply('duplicate') end

answer({ 'done' })
if url ~= e.url then
	call('HDEL', K.urls, e.url)
	call('HSET', K.urls, url, id)
end
e.url, e.status, e.version, e.record = url, status, next_version, record
keep_endpoint(e)
rebind(e)
keep_change('e', owner, id)
return reply('done')
