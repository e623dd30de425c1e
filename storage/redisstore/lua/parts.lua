-- in_parts reports whether a set contains the part in a member of turns (see queue.lua). A set
-- is a text of 1,024 digits, 1 for each part that it contains, or '' for all parts.
local function in_parts(set, member)
	if set == '' then return true end
	local high, low = byte(member, 33, 34)
	return byte(set, 32 * high + low - 2111) == 49
end
