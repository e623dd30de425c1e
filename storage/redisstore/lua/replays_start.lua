-- Stores a new replay, unless the endpoint already has a running one.
local given = answered()
if given then return reply(given[1]) end

local id, owner, text = arg(), arg(), arg()
local r, had = cjson.decode(text), replay_of(id)
if not status_of(id, owner) then return reply('unknown') end
if had and had.ID == r.ID then return reply('done') end
if had and had.State == 'running' then return reply('running') end

answer({ 'done' })
keep_replay(id, r, text)
return reply('done')
