-- What only the caller reads begins with a byte for its form, and has texts with
-- their length in front, 7 bits to a byte, and times as 8 bytes.
-- skip_text says where the next begins; instant gives a time as 16 digits.
local function skip_text(text, at)
	local size, unit = 0, 1
	while true do
		local b = byte(text, at)
		at = at + 1
		if b < 128 then return at + size + b * unit end
		size, unit = size + (b - 128) * unit, unit * 128
	end
end

local function instant(text, at)
	local first = byte(text, at)
	return format('%02x%02x%02x%02x%02x%02x%02x%02x', (first + 128) % 256, byte(text, at + 1, at + 7))
end

-- within says whether a time is at since or later and before until, '' for no bound.
local function within(time, since, till)
	return (since == '' or since <= time) and (till == '' or time < till)
end
