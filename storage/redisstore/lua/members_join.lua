-- Begins a term.
local clock, term, lease, node, name = arg(), arg(), arg() + 0, arg(), arg()
local seen, other = arg() + 0, arg()
local now = moment(clock)
local list, at = terms(term)
if answered() then return at and state(now, list, '1') or reply('fenced') end

local ends = hex(now + lease)
local gone, rest, latest = {}, {}, ends
for i = 1, #list, 2 do
	local _, from = field(list[i + 1], FIELDS)
	if field(list[i + 1], from) == name then
		insert(gone, list[i])
	else
		insert(rest, list[i])
		insert(rest, list[i + 1])
		latest = later(latest, list[i + 1])
	end
end
local text = ends .. hex(lease) .. hex(0) .. '0000' .. string.rep(char(0), PARTS / 8) .. to_field('') .. node
insert(rest, term)
insert(rest, text)
local beats, epoch = counted_beats(seen, '', other)

answer({})
end_terms(gone)
call('HSET', K.members, term, text)
call('HSET', K.journal, 't' .. term, '1')
keep_latest(latest)
keep_beat(beats, epoch)
return state(now, rest, '1')
