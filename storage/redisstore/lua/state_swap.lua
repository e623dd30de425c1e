-- Replaces a value if it has a version (of zeros for none), or removes it if kept is ''. Then
-- removes values whose ttl is over, and the oldest ones while there are too many. Arguments:
-- name, owner and its record.OwnerID, version, when the ttl is over ('' for never), kept, data; the maximum number of an
-- owner's values with a ttl, of all, and of their bytes. Replies with the new version.
local given = answered()
if given then return reply('done', given[1]) end

local name, owner, owner_id, version, ends, kept, data = arg(), arg(), arg(), arg(), arg(), arg(), arg()
local most_of, most, most_bytes = tonumber(arg()), tonumber(arg()), tonumber(arg())
if ends ~= '' and is_gone(owner_id) then return reply('gone') end
local had = value_of(name)
local live = had and (had.ends == '' or had.ends > now)
if version ~= (live and had.version or hex(0)) then return reply('conflict') end
local number = (call('HGET', K.count, 'v') or '0') + 1
local told = kept == '' and hex(0) or hex(number)

answer({ told })
if had then remove_value(had) end
if kept ~= '' then
	call('HSET', K.count, 'v', format('%d', number))
	call('HSET', K.values, name, to_field(owner) .. to_field(told) .. to_field(ends) .. data)
	if ends ~= '' then
		call('ZADD', K.valueorder, '0', 'v' .. told .. name, '0', 'o' .. owner .. told .. name, '0', 't' .. ends .. name)
		call('HINCRBY', K.count, 'w', format('%d', #data))
	end
end
for _, old in ipairs(values_with('t', 't' .. now, '64')) do remove_value(value_of(old)) end
local function remove_first(prefix) remove_value(value_of(values_with(prefix, prefix, '1')[1])) end
while among(K.valueorder, 'o' .. owner) > most_of do remove_first('o' .. owner) end
while among(K.valueorder, 'v') > most or (call('HGET', K.count, 'w') or '0') + 0 > most_bytes do remove_first('v') end
return reply('done', told)
