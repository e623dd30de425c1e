-- The hash copying of the target of a copy has the source, and the part and the row after which the
-- copy goes on. n is the last number that was given to a record, delivery or ledger entry.
-- moved reports whether the copy no longer stands where the caller has left it.
local function moved(part, after)
	local is = call('HMGET', K.copying, 'part', 'after')
	return is[1] ~= part or is[2] ~= after
end

local function keep_place(part, after, n)
	call('HSET', K.copying, 'part', part, 'after', after, 'n', n)
	if n ~= '0' then call('HSET', K.count, 'n', n) end
end
