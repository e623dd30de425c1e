-- Records settlements. Arguments of each: id of the delivery; its state after the attempt, or b
-- if the claim is given back without an attempt, or g if the endpoint is deleted; due; number
-- of the attempt; wait in milliseconds; record of the attempt. The hash attempts has the
-- attempts of each delivery: number (16 digits) and a field for the record, repeated.
local given = answered()
if given then return reply() end

local count = tonumber(arg())
local ids, by_id = {}, {}
for i = 1, count do
	local id = ARGV[word + 6 * i - 5]
	if not by_id[id] then
		by_id[id] = true
		insert(ids, id)
	end
end
local tried = {}
for i, value in ipairs(get(K.deliveries, ids)) do
	local d = value and open_delivery(ids[i], value)
	by_id[ids[i]] = d and (not final(d) or orphaned(d)) and d or nil
	if by_id[ids[i]] and d.attempts > 0 then insert(tried, ids[i]) end
end
for i, log in ipairs(get(K.attempts, tried)) do by_id[tried[i]].log = log or '' end

-- has reports whether attempt number n of delivery d is already recorded.
local function has(d, n)
	local log, at = d.log, 1
	while log and at <= #log do
		if sub(log, at, at + 15) == n then return true end
		local _
		_, at = field(log, at + 16)
	end
	return false
end

local changed, seen, logs, late, records = {}, {}, {}, {}, {}
for _ = 1, count do
	local id, what, due, n, ms, attempt = arg(), arg(), arg(), arg(), tonumber(arg()), arg()
	local d = by_id[id]
	local attempted = what ~= 'b' and what ~= 'g'
	if d and orphaned(d) then
		if attempted and not has(d, n) then -- the attempt was in progress when the endpoint was deleted
			d.attempts, d.log, d.logged = d.attempts + 1, (d.log or '') .. n .. to_field(attempt), true
			if what == 'd' then d.state, d.due = 'd', hex(0) end
			if not seen[id] then
				seen[id] = true
				insert(late, d)
			end
		end
	elseif d and not final(d) and not (attempted and has(d, n)) then
		if not seen[id] or what == 'd' or what == 'f' or what == 'g' then
			if seen[id] then -- move it to the position of the settlement that made it final
				for i, c in ipairs(changed) do
					if c == d then
						table.remove(changed, i)
						break
					end
				end
			end
			seen[id] = true
			insert(changed, d)
		end
		d.due = due
		if what == 'g' then orphan(d) end
		if attempted then
			d.state, d.attempts = what, d.attempts + 1
			d.log = (d.log or '') .. n .. to_field(attempt)
			d.logged = true
			if what == 'r' and ms > 0 then wait(d, ms) end
		end
		if final(d) and not orphaned(d) then d.due = hex(0) end
	end
end
prepare(changed)
for _, d in ipairs(changed) do
	if d.logged then
		insert(logs, d.id)
		insert(logs, d.log)
	end
end
for _, d in ipairs(late) do
	insert(logs, d.id)
	insert(logs, d.log)
	insert(records, d.id)
	insert(records, record(d))
end

answer({})
many('HSET', K.attempts, logs)
many('HSET', K.deliveries, records)
save(changed)
remove_events(step)
return reply()
