-- Records encoded by Go code begin with a byte for the version of the encoding. A text in them
-- has its length in front, as a varint with 7 bits per byte. A time has 8 bytes.

-- skip_text returns the position after the text that begins at a position.
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

-- within reports whether since <= time < till. A limit of '' is ignored.
local function within(time, since, till)
	return (since == '' or since <= time) and (till == '' or time < till)
end
