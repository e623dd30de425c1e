-- Removes the owner's name from items of a list. A position counts from the end of the list, because
-- retention removes items at the start. A changed item keeps its place and time. When retention
-- removes it, no data is removed with it.
local which = arg()
local key = ({ settled = K.settled, entryorder = K.entryorder, feed = K.feed })[which]
local list = call('LRANGE', key, format('%d', -from - LOOK), format('%d', -from - 1))

-- without returns item e without the owner's name, or nil if e does not contain it.
local function without(e)
	if which == 'settled' then
		if field(e, 35) == owner then return sub(e, 1, 16) .. hex(0) .. '00' .. to_field('') end
	elseif which == 'entryorder' then
		if field(e, 17) == owner then return sub(e, 1, 16) .. to_field('') .. hex(0) end
	elseif sub(e, 1, #owner) == owner and #owner > 2 then
		return '\0\0' .. sub(e, #owner + 1)
	end
end

local changed, at = {}, {}
for i, e in ipairs(list) do
	local is = without(e)
	if is then
		insert(changed, is)
		insert(at, format('%d', i - #list - from - 1))
	end
end
local told = { #list == LOOK and format('%d', from + LOOK) or '', format('%d', #changed) }

answer(told)
for i, is in ipairs(changed) do call('LSET', key, at[i], is) end
return reply(unpack(told))
