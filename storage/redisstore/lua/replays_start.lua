-- Stores a new replay, unless the endpoint already has a running one.
local given = answered()
if given then return reply(given[1]) end

local id, owner, r = arg(), arg(), {}
for _, name in ipairs(replay_fields) do r[name] = arg() end
if not status_of(id, owner) then return reply('unknown') end
local had = replay_of(id)
if had and had.id == r.id then return reply('done') end
if had and had.state == 'r' then return reply('running') end

answer({ 'done' })
keep_replay(id, r, to_replay(r), '')
return reply('done')
