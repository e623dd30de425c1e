-- Stores the version of the data if there is no data yet. Returns the stored version, '1' if there are
-- closed lanes (see closing.lua), and the epoch of the ids of deliveries.
local mark = arg()
if call('EXISTS', K.version) == 0 then call('SET', K.version, mark) end
return reply(call('GET', K.version), call('EXISTS', K.closing) == 1 and '1' or '', call('HGET', K.count, 'd') or '0')
