-- Reads when the next delivery is due, '' when none is open.
local first = call('ZRANGE', K.lanes, '0', '0')[1]
return reply(first and sub(first, 1, 16) or '')
