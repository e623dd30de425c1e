-- Makes an empty store the target of a copy: version is then mark, and copying has the source and
-- where the copy goes on. Replies with these if the store is such a target already.
local source, mark = arg(), arg()
if call('GET', K.version) == mark then return reply('on', call('HMGET', K.copying, 'source', 'part', 'after', 'n')) end
for _, key in ipairs({ K.count, K.journal, K.members, K.events, K.records, K.feed, K.gonetimes, K.values, K.balances, K.totals,
	K.entries, K.entriesgone, K.holds, K.resolved, K.copying }) do
	if call('EXISTS', key) == 1 then return reply('full') end
end
call('SET', K.version, mark)
call('HSET', K.copying, 'source', source, 'part', '0', 'after', '', 'n', '0')
return reply('on', { source, '0', '', '0' })
