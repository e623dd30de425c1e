-- Reads replays that are due, earliest due first.
local now, limit = arg(), arg()
local ids = call('ZRANGEBYLEX', K.replaysdue, '-', '(' .. after(now), 'LIMIT', '0', limit)
for i, member in ipairs(ids) do ids[i] = sub(member, 17) end
return reply(get(K.replays, ids))
