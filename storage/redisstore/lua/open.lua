-- keys: version
-- Marks an empty store, and gives the version of the data.
local version = call('GET', K.version)
if not version then
	version = arg()
	call('SET', K.version, version)
end
return reply(version)
