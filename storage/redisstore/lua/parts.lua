-- in_parts reports whether a part, which is two letters (see queue.lua), is in a set: 1,024
-- digits, 1 for each part that is in it, or '' for all parts.
local function in_parts(set, part)
	local high, low = byte(part, 1, 2)
	return set == '' or byte(set, 32 * high + low - 2111) == 49
end
