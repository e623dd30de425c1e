-- Stores the version of the data if there is no data yet. Returns the stored version. If it is
-- the wanted one, the script also removes the answers of stores whose time limit has passed (see
-- write.lua), and replies '1' if there are closed lanes (see closing.lua).
local mark, slots, now = arg(), tonumber(arg()), arg()
local version = call('GET', K.version)
if not version then
	version = mark
	call('SET', K.version, version)
end
if version ~= mark then return reply(version, '') end

local gone, answers = {}, {}
local known = call('HGETALL', K.clients)
for i = 1, #known, 2 do
	if known[i + 1] < now then
		insert(gone, known[i])
		for slot = 0, slots - 1 do insert(answers, 'a' .. known[i] .. format('%d', slot)) end
	end
end
many('HDEL', K.journal, answers)
many('HDEL', K.clients, gone)
return reply(version, call('EXISTS', K.closing) == 1 and '1' or '')
