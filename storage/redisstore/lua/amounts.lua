-- Amounts have 64 bits, but numbers in Lua are exact only to 53. Amounts are therefore
-- passed as text, and computed as two numbers: high * 10^9 + low, with low in [0, 10^9).
local BILLION = 1e9
local MOST = { 9223372036, 854775807 }
local LEAST = { -9223372037, 145224192 }

local function amount(text)
	local negative = sub(text, 1, 1) == '-'
	if negative then text = sub(text, 2) end
	local high, low = tonumber(sub(text, 1, -10)) or 0, tonumber(sub(text, -9))
	if not negative then return { high, low } end
	if low == 0 then return { 0 - high, 0 } end
	return { -1 - high, BILLION - low }
end

local function plus(a, b)
	local high, low = a[1] + b[1], a[2] + b[2]
	if low >= BILLION then return { high + 1, low - BILLION } end
	return { high, low }
end

local function minus(a, b)
	local high, low = a[1] - b[1], a[2] - b[2]
	if low < 0 then return { high - 1, low + BILLION } end
	return { high, low }
end

local function below(a, b) return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2]) end

-- to_text formats an amount that is not negative, signed_text any amount.
local function to_text(a)
	if a[1] == 0 then return format('%.0f', a[2]) end
	return format('%.0f%09.0f', a[1], a[2])
end

-- bounded returns the amount, or the nearest one that fits 64 bits.
local function bounded(a)
	if below(MOST, a) then return MOST end
	if below(a, LEAST) then return LEAST end
	return a
end

local function signed_text(a)
	if a[1] >= 0 then return to_text(a) end
	return '-' .. to_text(minus({ 0, 0 }, a))
end
