-- Records that the store encodes begin with a byte for their version. Texts in them have
-- their length before them, as a varint of 7 bits to a byte, and times are 8 bytes.

-- skip_text returns the position after the text at a position.
local function skip_text(text, at)
	local size, unit = 0, 1
	while true do
		local b = byte(text, at)
		at = at + 1
		if b < 128 then return at + size + b * unit end
		size, unit = size + (b - 128) * unit, unit * 128
	end
end

-- instant returns the time at a position as 16 digits.
local function instant(text, at)
	local first = byte(text, at)
	return format('%02x%02x%02x%02x%02x%02x%02x%02x', (first + 128) % 256, byte(text, at + 1, at + 7))
end

-- within reports whether a time is at or after since and before till. '' sets no limit.
local function within(time, since, till)
	return (since == '' or since <= time) and (till == '' or time < till)
end
